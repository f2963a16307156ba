//! Bounds, by the busy shares of siblings alone, of the time in which 0, 1, ... S of them were busy at once.
//!
//! At least k of S siblings were busy for a share of time of at most min over r < k of (the sum of all busy shares but
//! the r largest) / (k - r): those r apart, at least k - r of the others were (Rüger 1978). Of two siblings these are
//! the bounds of Fréchet. Idle siblings, counted in the same way, give the lower bounds.

use crate::proc::Range;

/// The least and the largest share of time with exactly k siblings busy, for k from 0 to S.
pub(super) fn bounds(busy: &[Range]) -> Vec<[f64; 2]> {
    let width = busy.len();
    let most = at_least(busy.iter().map(|it| it.high).collect());
    // At least k are busy unless at least S - k + 1 are idle.
    let idle = at_least(busy.iter().map(|it| 1.0 - it.low).collect());
    let low =
        |k: usize| if k == 0 { 1.0 } else { idle.get(width + 1 - k).map_or(0.0, |it| 1.0 - it) };
    let high = |k: usize| most.get(k).copied().unwrap_or(0.0);
    let exactly = |k: usize| [(low(k) - high(k + 1)).max(0.0), (high(k) - low(k + 1)).min(1.0)];
    (0..=width).map(exactly).collect()
}

/// The largest possible share of time with at least k of these events, for k from 0 to their number.
fn at_least(mut shares: Vec<f64>) -> Vec<f64> {
    shares.sort_unstable_by(|one, other| other.total_cmp(one));
    let without = |largest: usize| shares.iter().skip(largest).sum::<f64>();
    let most = |k: usize| (0..k).map(|r| without(r) / (k - r) as f64).fold(1.0, f64::min);
    (0..=shares.len()).map(most).collect()
}

/// Shares of time with 0 to S siblings busy, in the middle between as much and as little overlap as possible.
pub(super) fn middle(busy: &[Range]) -> Vec<f64> {
    let mut shares: Vec<f64> = busy.iter().map(|it| it.value).collect();
    shares.sort_unstable_by(|one, other| other.total_cmp(one));
    let mut busy_siblings = vec![0.0; shares.len() + 1];
    // As much as possible: all begin at the same time.
    let mut longer = 1.0;
    for (k, &share) in shares.iter().enumerate() {
        busy_siblings[k] += 0.5 * (longer - share);
        longer = share;
    }
    busy_siblings[shares.len()] += 0.5 * longer;
    // As little as possible: one after the other, and around again.
    let all: f64 = shares.iter().sum();
    let always = (all.floor() as usize).min(shares.len());
    let more = all - always as f64;
    busy_siblings[always] += 0.5 * (1.0 - more);
    if let Some(next) = busy_siblings.get_mut(always + 1) {
        *next += 0.5 * more;
    }
    busy_siblings
}

/// The largest distance from these shares to their bounds.
pub(super) fn error(busy_siblings: &[f64], bounds: &[[f64; 2]]) -> f64 {
    let distance = |(share, [low, high]): (&f64, &[f64; 2])| (high - share).max(share - low);
    busy_siblings.iter().zip(bounds).map(distance).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(shares: &[f64]) -> Vec<Range> {
        shares.iter().map(|&value| Range { low: value, value, high: value }).collect()
    }

    fn is_near(one: &[f64], other: &[f64]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn idle_and_full_siblings_leave_nothing_open() {
        for (shares, expected) in [
            (vec![0.0, 0.0], vec![1.0, 0.0, 0.0]),
            (vec![1.0, 0.3], vec![0.0, 0.7, 0.3]),
            (vec![0.0, 0.3], vec![0.7, 0.3, 0.0]),
            (vec![1.0, 1.0, 1.0], vec![0.0, 0.0, 0.0, 1.0]),
            (vec![0.4], vec![0.6, 0.4]),
        ] {
            let busy = known(&shares);
            assert!(is_near(&middle(&busy), &expected), "{shares:?}: {:?}", middle(&busy));
            assert!(error(&expected, &bounds(&busy)) < 1e-9, "{shares:?}: {:?}", bounds(&busy));
        }
    }

    #[test]
    fn of_two_siblings_the_bounds_are_those_of_frechet() {
        let found = bounds(&known(&[0.5, 0.7]));
        let expected = [[0.0, 0.3], [0.2, 0.8], [0.2, 0.5]];
        assert!(found.iter().zip(&expected).all(|(one, other)| is_near(one, other)), "{found:?}");
        assert!(is_near(&middle(&known(&[0.5, 0.7])), &[0.15, 0.5, 0.35]));
    }

    #[test]
    fn what_is_known_less_exactly_has_wider_bounds() {
        let one = Range { low: 0.4, value: 0.5, high: 0.6 };
        let found = bounds(&[one, Range { low: 1.0, value: 1.0, high: 1.0 }]);
        assert!(is_near(&found[1], &[0.4, 0.6]) && is_near(&found[2], &[0.4, 0.6]), "{found:?}");
    }

    proptest! {
        /// Any schedule: the bits of a step say which siblings are busy in it.
        #[test]
        fn every_schedule_lies_between_its_bounds(
            width in 1_usize..6,
            steps in proptest::collection::vec(any::<u8>(), 1..40),
        ) {
            let count = steps.len() as f64;
            let busy = |sibling: usize| {
                steps.iter().filter(|step| *step >> sibling & 1 == 1).count() as f64 / count
            };
            let busy = known(&(0..width).map(busy).collect::<Vec<_>>());
            let mut truth = vec![0.0; width + 1];
            for step in &steps {
                truth[(step & ((1 << width) - 1)).count_ones() as usize] += 1.0 / count;
            }
            for (share, [low, high]) in truth.iter().zip(bounds(&busy)) {
                prop_assert!(*share > low - 1e-9 && *share < high + 1e-9, "{truth:?} {:?}", bounds(&busy));
            }
            let middle = middle(&busy);
            prop_assert!((middle.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let mean: f64 = middle.iter().enumerate().map(|(k, share)| k as f64 * share).sum();
            let expected: f64 = busy.iter().map(|it| it.value).sum();
            prop_assert!((mean - expected).abs() < 1e-9, "{mean} {expected}");
        }
    }
}
