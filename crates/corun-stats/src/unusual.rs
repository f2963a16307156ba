//! Unusual samples: values far from the rest, and drift over the run.
//!
//! Marks are evidence for the reader; nothing is dropped because of them. Robust measures are used,
//! so that an outlier does not hide itself by widening the yardstick.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

/// Marked beyond this modified z-score, after Iglewicz and Hoaglin (1993).
const OUTLIER_SCORE: f64 = 3.5;
/// The fewest values for which the t approximation to the rank correlation is fair.
const DRIFT_FROM_VALUES: usize = 8;
/// A drift this improbable under independence is reported.
const DRIFT_PROBABILITY: f64 = 0.01;

/// The median; `None` without values or if one is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at 0 <= `share` <= 1, median-unbiased (Hyndman and Fan 1996, type 8).
///
/// `None` without values, if one is not finite, or for another share.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let finite = values.iter().all(|value| value.is_finite());
    (finite && !values.is_empty() && (0.0..=1.0).contains(&share))
        .then(|| Data::new(values.to_vec()).quantile(share))
}

/// The indices of values far from the median, in order: modified z-score above 3.5.
///
/// The yardstick is the median absolute deviation, and where more than half of the values are equal
/// the mean absolute deviation (Iglewicz and Hoaglin 1993). Times should come as logs. Empty if a
/// value is not finite.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    // Both factors make the yardstick the standard deviation of normal data.
    let yardstick = match median(&distances) {
        Some(deviation) if deviation > 0.0 => 1.4826 * deviation,
        _ => 1.2533 * distances.as_slice().mean(),
    };
    (0..values.len()).filter(|&index| distances[index] > OUTLIER_SCORE * yardstick).collect()
}

/// Drift: rise or fall of values with their order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Spearman's rank correlation of value and order: 1 ever rising, -1 ever falling.
    pub rank_correlation: f64,
    /// The probability of so much correlation, in either direction, under independence.
    pub probability: f64,
}

impl Drift {
    /// True if chance is an unlikely explanation (below 1 %).
    pub fn is_unusual(&self) -> bool {
        self.probability < DRIFT_PROBABILITY
    }
}

/// The drift of `values` in the order in which they were measured (Spearman 1904).
///
/// Drift shared by the arms of a block does not bias their ratio; it does say that the machine
/// changed under the run. `None` below 8 values or if one is not finite; equal values do not drift.
pub fn drift(values: &[f64]) -> Option<Drift> {
    let count = values.len();
    if count < DRIFT_FROM_VALUES || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let ranks = Data::new(values.to_vec()).ranks(RankTieBreaker::Average);
    let order: Vec<f64> = (1..=count).map(|position| position as f64).collect();
    let spread = ranks.as_slice().std_dev() * order.as_slice().std_dev();
    if spread == 0.0 {
        return Some(Drift { rank_correlation: 0.0, probability: 1.0 });
    }
    let rank_correlation = (ranks.as_slice().covariance(&order) / spread).clamp(-1.0, 1.0);
    let freedom = (count - 2) as f64;
    let distance = rank_correlation.abs() * (freedom / (1.0 - rank_correlation.powi(2))).sqrt();
    let probability = if distance.is_finite() {
        2.0 * StudentsT::new(0.0, 1.0, freedom).ok()?.sf(distance)
    } else {
        0.0
    };
    Some(Drift { rank_correlation, probability })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians_and_quantiles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.0), Some(1.0));
        assert_eq!(quantile(&hundred, 1.0), Some(100.0));
        assert!((quantile(&hundred, 0.25).unwrap() - 25.4166).abs() < 1e-3);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&hundred, 1.5), None);
    }

    #[test]
    fn the_far_value_is_marked_and_only_it() {
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 5.0, 0.95]), [4]);
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 0.95]), [0; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]), [6]);
        assert_eq!(outliers(&[1.0; 9]), [0; 0]);
        assert_eq!(outliers(&[]), [0; 0]);
        assert_eq!(outliers(&[1.0, f64::NAN]), [0; 0]);
    }

    #[test]
    fn the_limit_is_three_and_a_half_deviations() {
        // Median absolute deviation 3, so 3.5 * 1.4826 * 3 = 15.57.
        let with = |last| [-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, last];
        assert_eq!(outliers(&with(15.5)), [0; 0]);
        assert_eq!(outliers(&with(15.6)), [10]);
    }

    #[test]
    fn two_outliers_do_not_hide_each_other() {
        let mut values: Vec<f64> = (0..20).map(|index| f64::from(index % 5) * 0.01).collect();
        values[7] = 1.0;
        values[11] = 1.0;
        assert_eq!(outliers(&values), [7, 11]);
    }

    #[test]
    fn drift_is_seen_in_either_direction() {
        let rising: Vec<f64> = (0..12).map(f64::from).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        let expected = |rank_correlation| Drift { rank_correlation, probability: 0.0 };
        assert_eq!(drift(&rising), Some(expected(1.0)));
        assert_eq!(drift(&falling), Some(expected(-1.0)));
        assert!(drift(&falling).unwrap().is_unusual());
    }

    #[test]
    fn drift_has_the_textbook_probability_and_knows_ties() {
        // The squared rank differences add up to 22: 1 - 6 * 22 / (8 * 63) = 0.7381, which is
        // t = 2.680 on 6 degrees of freedom.
        let seen = drift(&[3.0, 1.0, 2.0, 6.0, 4.0, 7.0, 8.0, 5.0]).unwrap();
        assert!((seen.rank_correlation - 0.7381).abs() < 1e-4, "{seen:?}");
        assert!((seen.probability - 0.0366).abs() < 1e-4, "{seen:?}");
        assert!(!seen.is_unusual());
        let tied = drift(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]).unwrap();
        assert!((0.95..1.0).contains(&tied.rank_correlation), "{tied:?}");
    }

    #[test]
    fn drift_needs_values() {
        assert_eq!(drift(&[1.0; 7]), None);
        assert_eq!(drift(&[f64::NAN; 8]), None);
        assert_eq!(drift(&[2.0; 8]), Some(Drift { rank_correlation: 0.0, probability: 1.0 }));
    }

    proptest! {
        #[test]
        fn nothing_panics_and_marks_are_indices(values in prop::collection::vec(any::<f64>(), 0..30)) {
            prop_assert!(outliers(&values).iter().all(|&index| index < values.len()));
            if let Some(seen) = drift(&values) {
                prop_assert!((-1.0..=1.0).contains(&seen.rank_correlation));
                prop_assert!((0.0..=1.0).contains(&seen.probability));
            }
        }
    }
}
