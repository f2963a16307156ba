//! Change points of a series' level: E-divisive (Matteson and James 2014), as Daly et al. 2020 use it for performance.
//!
//! The split of the series whose two sides are farthest apart (energy distance: Székely and Rizzo 2005) is tested by
//! permuting the values, so that nothing is assumed of their distribution. A split that is found is kept, its sides
//! are searched in turn, and values are then permuted within sides.

use std::ops::Range;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The fewest values on each side of a change: one or two are outliers.
const FEWEST: usize = 3;
/// Random permutations of a test.
const PERMUTATIONS: usize = 999;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value of the new level.
    pub index: usize,
    /// The probability of so distant sides under exchangeable values.
    pub probability: f64,
}

/// The fewest values of a series in which a change can be found.
pub const CHANGE_POINTS_FROM_VALUES: usize = 2 * FEWEST;

/// The change points of a series in its order, at most a share `error_rate` of series of exchangeable values having
/// any. The seed decides about the permutations. None if a value is not finite.
pub fn change_points(values: &[f64], error_rate: f64, seed: u64) -> Vec<ChangePoint> {
    let mut found: Vec<ChangePoint> = Vec::new();
    if values.iter().any(|value| !value.is_finite()) {
        return found;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut splitter = Splitter::default();
    let mut sides: Vec<Range<usize>> = std::iter::once(0..values.len()).collect();
    loop {
        let best = sides
            .iter()
            .filter_map(|side| {
                let (split, distance) = splitter.best(&values[side.clone()])?;
                Some((side.start + split, distance))
            })
            .max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((index, distance)) = best else { break };
        let Some(probability) = probability(values, &sides, distance, error_rate, &mut random)
        else {
            break;
        };
        found.push(ChangePoint { index, probability });
        let side = sides.iter().position(|side| side.contains(&index)).unwrap_or_default();
        let later = index..sides[side].end;
        sides[side].end = index;
        sides.insert(side + 1, later);
    }
    found.sort_by_key(|change| change.index);
    found
}

/// The share of permutations that give as distant sides; `None` as soon as it is above `error_rate`.
fn probability(
    values: &[f64],
    sides: &[Range<usize>],
    distance: f64,
    error_rate: f64,
    random: &mut ChaCha8Rng,
) -> Option<f64> {
    let most = (error_rate * (PERMUTATIONS + 1) as f64).floor();
    let mut splitter = Splitter::default();
    let mut shuffled = values.to_vec();
    // The order that was observed is one of the permutations.
    let mut as_distant = 1.0;
    for _ in 0..PERMUTATIONS {
        let mut farthest = f64::NEG_INFINITY;
        for side in sides {
            shuffled[side.clone()].shuffle(random);
            if let Some((_, distance)) = splitter.best(&shuffled[side.clone()]) {
                farthest = farthest.max(distance);
            }
        }
        // Sums in another order may differ in their last digits.
        if farthest >= distance * (1.0 - 1e-12) {
            as_distant += 1.0;
            if as_distant > most {
                return None;
            }
        }
    }
    Some(as_distant / (PERMUTATIONS + 1) as f64)
}

/// Searches for the split whose sides are farthest apart, in space that is used again for each permutation.
#[derive(Default)]
struct Splitter {
    /// For each value the sum of its distances from those before it.
    before: Vec<f64>,
    /// For each value the sum of its distances from those after it.
    after: Vec<f64>,
}

impl Splitter {
    /// The split whose sides are farthest apart, with their scaled energy distance; `None` for fewer than twice
    /// [`FEWEST`] values.
    fn best(&mut self, values: &[f64]) -> Option<(usize, f64)> {
        let count = values.len();
        if count < CHANGE_POINTS_FROM_VALUES {
            return None;
        }
        self.sum_distances(values);
        let pairs = |of: f64| of * (of - 1.0) / 2.0;
        let all: f64 = self.before.iter().sum();
        let mut within_first: f64 = self.before[..FEWEST].iter().sum();
        let mut within_second: f64 = self.after[FEWEST..].iter().sum();
        let mut best = None;
        for split in FEWEST..=count - FEWEST {
            let (first, second) = (split as f64, (count - split) as f64);
            let across = all - within_first - within_second;
            let energy = 2.0 * across / (first * second)
                - within_first / pairs(first)
                - within_second / pairs(second);
            let distance = first * second / (first + second) * energy;
            if best.is_none_or(|(_, farthest)| distance >= farthest) {
                best = Some((split, distance));
            }
            within_first += self.before[split];
            within_second -= self.after[split];
        }
        best
    }

    fn sum_distances(&mut self, values: &[f64]) {
        self.before.clear();
        self.after.clear();
        for (index, value) in values.iter().enumerate() {
            let mut sum = 0.0;
            for (earlier, after) in values[..index].iter().zip(&mut self.after) {
                let distance = (value - earlier).abs();
                sum += distance;
                *after += distance;
            }
            self.before.push(sum);
            self.after.push(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A level for each part, with a ripple of a thousandth.
    fn levels(parts: &[(usize, f64)]) -> Vec<f64> {
        let ripple = |index: usize| 0.001 * ((index as f64) * 2.4).sin();
        let values = parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        values.enumerate().map(|(index, level)| level + ripple(index)).collect()
    }

    fn found(values: &[f64]) -> Vec<usize> {
        change_points(values, 0.05, 1).iter().map(|change| change.index).collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        assert_eq!(found(&levels(&[(12, 0.0), (12, 0.02)])), [12]);
        assert_eq!(found(&levels(&[(10, 0.0), (10, -0.05), (10, 0.03)])), [10, 20]);
        assert_eq!(found(&levels(&[(30, 0.0)])), [0; 0]);
    }

    #[test]
    fn one_outlier_is_no_change() {
        let mut values = levels(&[(24, 0.0)]);
        values[11] = 0.5;
        assert_eq!(found(&values), [0; 0]);
    }

    #[test]
    fn series_that_are_too_short_or_not_finite_have_none() {
        assert_eq!(found(&[]), [0; 0]);
        assert_eq!(found(&[0.0, 0.0, 0.0, 9.0, 9.0]), [0; 0]);
        assert_eq!(found(&[0.0; 40]), [0; 0]);
        let mut values = levels(&[(12, 0.0), (12, 0.02)]);
        values[3] = f64::NAN;
        assert_eq!(found(&values), [0; 0]);
    }

    #[test]
    fn the_seed_decides_and_the_probability_is_a_share_of_permutations() {
        let values = levels(&[(12, 0.0), (12, 0.02)]);
        let once = change_points(&values, 0.05, 7);
        assert_eq!(once, change_points(&values, 0.05, 7));
        assert_eq!(once[0].probability, 0.001);
    }

    proptest! {
        #[test]
        fn changes_lie_apart_and_in_order(values in prop::collection::vec(-1.0..1.0_f64, 0..30)) {
            let found = found(&values);
            let borders: Vec<usize> =
                [0].into_iter().chain(found).chain([values.len()]).collect();
            if borders.len() > 2 {
                prop_assert!(borders.windows(2).all(|pair| pair[1] >= pair[0] + FEWEST));
            }
        }
    }
}
