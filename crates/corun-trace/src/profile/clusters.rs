//! Points in clusters: each belongs to the center that is nearest, and each center is the mean of its points.
//!
//! Lloyd (Least squares quantization in PCM, 1982), from centers that are chosen by their distances (Arthur and
//! Vassilvitskii, k-means++, 2007), the best of several times; always the same for the same points.

use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Points that are near each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cluster {
    /// Places of the points, in their order.
    pub(super) members: Vec<usize>,
    /// The place of the one that is nearest to their mean.
    pub(super) nearest: usize,
}

/// Times that centers are chosen, and moved each time at most.
const TIMES: usize = 8;
const MOVES: usize = 100;

/// Points in at most `count` clusters, none of which is empty.
pub(super) fn clusters<const N: usize>(points: &[[f64; N]], count: usize) -> Vec<Cluster> {
    if count == 0 {
        return Vec::new();
    }
    if count >= points.len() {
        let alone = |at| Cluster { members: vec![at], nearest: at };
        return (0..points.len()).map(alone).collect();
    }
    let mut chance = ChaCha8Rng::seed_from_u64(0);
    let tries = (0..TIMES).map(|_| Division::of(points, count, &mut chance));
    let best = tries.min_by(|one, other| one.distances.total_cmp(&other.distances));
    let Some(Division { centers, nearest, .. }) = best else { return Vec::new() };
    let cluster = |(number, center): (usize, &[f64; N])| {
        let members: Vec<usize> = (0..points.len()).filter(|&at| nearest[at] == number).collect();
        let away = |&at: &usize| distance(&points[at], center);
        let nearest =
            members.iter().copied().min_by(|one, other| away(one).total_cmp(&away(other)))?;
        Some(Cluster { members, nearest })
    };
    centers.iter().enumerate().filter_map(cluster).collect()
}

/// Centers, and where each point belongs.
struct Division<const N: usize> {
    centers: Vec<[f64; N]>,
    /// For each point.
    nearest: Vec<usize>,
    /// The sum of their squares.
    distances: f64,
}

impl<const N: usize> Division<N> {
    fn of(points: &[[f64; N]], count: usize, chance: &mut ChaCha8Rng) -> Self {
        let mut now = Self::around(points, chosen(points, count, chance));
        for _ in 0..MOVES {
            let next = Self::around(points, now.means(points));
            let is_still = next.nearest == now.nearest;
            now = next;
            if is_still {
                break;
            }
        }
        now
    }

    fn around(points: &[[f64; N]], centers: Vec<[f64; N]>) -> Self {
        let mut distances = 0.0;
        let nearest = |point| {
            let all = centers.iter().map(|center| distance(point, center)).enumerate();
            let (nearest, least) =
                all.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
            distances += least;
            nearest
        };
        Self { nearest: points.iter().map(nearest).collect(), centers, distances }
    }

    fn means(&self, points: &[[f64; N]]) -> Vec<[f64; N]> {
        let mut sums = vec![([0.0; N], 0.0); self.centers.len()];
        for (point, &nearest) in points.iter().zip(&self.nearest) {
            let (sum, count) = &mut sums[nearest];
            sum.iter_mut().zip(point).for_each(|(sum, it)| *sum += it);
            *count += 1.0;
        }
        let mean = |((sum, count), center): (&([f64; N], f64), &[f64; N])| match *count > 0.0 {
            true => sum.map(|it| it / count),
            false => *center,
        };
        sums.iter().zip(&self.centers).map(mean).collect()
    }
}

/// At most so many points, none of which equals another: each at random, the more likely the farther it is from those
/// before.
fn chosen<const N: usize>(
    points: &[[f64; N]],
    count: usize,
    chance: &mut ChaCha8Rng,
) -> Vec<[f64; N]> {
    let mut centers: Vec<[f64; N]> = Vec::new();
    let mut distances = vec![f64::INFINITY; points.len()];
    while centers.len() < count.min(points.len()) {
        let place = match WeightedIndex::new(&distances) {
            _ if centers.is_empty() => chance.random_range(0..points.len()),
            Ok(by_distance) => by_distance.sample(chance),
            // Whatever is left equals a center.
            Err(_) => break,
        };
        let center = points[place];
        centers.push(center);
        for (least, point) in distances.iter_mut().zip(points) {
            *least = least.min(distance(point, &center));
        }
    }
    centers
}

/// Squared.
fn distance<const N: usize>(one: &[f64; N], other: &[f64; N]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn heaps_are_found() {
        let heaps = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]];
        let points: Vec<[f64; 2]> = (0..60)
            .map(|at| {
                let [x, y] = heaps[at % 3];
                [x + (at % 7) as f64 * 0.1, y + (at % 5) as f64 * 0.1]
            })
            .collect();
        let found = clusters(&points, 3);
        assert_eq!(found.len(), 3);
        for cluster in found {
            assert!(cluster.members.iter().all(|at| at % 3 == cluster.nearest % 3), "{cluster:?}");
            assert_eq!(cluster.members.len(), 20);
        }
    }

    proptest! {
        #[test]
        fn each_point_is_in_one_cluster(
            points in prop::collection::vec(prop::array::uniform2(-5_i8..5), 0..40),
            count in 0_usize..12,
        ) {
            let points: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::from)).collect();
            let found = clusters(&points, count);
            let mut all: Vec<usize> = found.iter().flat_map(|it| it.members.clone()).collect();
            all.sort_unstable();
            let expected = if count == 0 { 0 } else { points.len() };
            prop_assert_eq!(all, (0..expected).collect::<Vec<_>>());
            prop_assert!(found.len() <= count);
            prop_assert!(found.iter().all(|it| it.members.contains(&it.nearest)));
            prop_assert_eq!(clusters(&points, count), found);
        }
    }
}
