//! The paired t interval: the estimate that every verdict rests on.
//!
//! Blocks pair the arms, so the block's log ratios are one sample of independent values, whatever
//! slow drift the machine goes through (Student 1908; paired as in Bulej et al. 2020, in random
//! order as in Abedi and Brecht 2017).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::statistics::Statistics;

/// From so many blocks on, the expansion of the t quantile is exact to eight digits.
const EXPANSION_FROM_BLOCKS: u32 = 10_000;

/// A two-sided confidence interval on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower limit.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
    /// The nominal confidence, such as 0.95.
    pub level: f64,
}

impl Interval {
    /// Half the distance between the limits, on the log scale.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if `log` lies in the interval, its limits included.
    pub fn holds(&self, log: f64) -> bool {
        (self.low..=self.high).contains(&log)
    }
}

/// A mean log ratio with its Student t interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean log ratio.
    pub log: f64,
    /// The lower limit, on the log scale.
    pub low: f64,
    /// The upper limit, on the log scale.
    pub high: f64,
    /// The nominal confidence of the interval, such as 0.95.
    pub level: f64,
    /// Number of blocks.
    pub blocks: u32,
    /// The standard error of [`log`](Self::log).
    pub standard_error: f64,
    /// Number of independent values that the interval rests on: the blocks, or batches of them.
    pub batches: u32,
    /// Allowance: how far the limits reach beyond chance, on the log scale.
    pub allowance: f64,
}

impl Estimate {
    /// A mean without an interval yet.
    pub(super) fn of(log: f64, standard_error: f64, blocks: u32, batches: u32) -> Self {
        let (low, high, level, allowance) = (log, log, 0.0, 0.0);
        Self { log, low, high, level, blocks, standard_error, batches, allowance }
    }

    /// The estimate with limits that reach further by `allowance`, at every level.
    pub fn allowing(&self, allowance: f64) -> Self {
        Self {
            low: self.low - allowance,
            high: self.high + allowance,
            allowance: self.allowance + allowance,
            ..*self
        }
    }

    /// The geometric mean ratio and its limits: `[ratio, low, high]`.
    pub fn ratio(&self) -> [f64; 3] {
        [self.log.exp(), self.low.exp(), self.high.exp()]
    }

    /// The interval alone.
    pub fn interval(&self) -> Interval {
        Interval { low: self.low, high: self.high, level: self.level }
    }

    /// Half the width of the interval, on the log scale: 0.01 is very nearly 1 %.
    pub fn half_width(&self) -> f64 {
        self.interval().half_width()
    }

    /// The standard deviation of one block's log ratio.
    pub fn standard_deviation(&self) -> f64 {
        self.standard_error * f64::from(self.blocks).sqrt()
    }

    /// The estimate at another confidence; `None` unless 0 < `level` < 1.
    pub fn at_level(&self, level: f64) -> Option<Self> {
        let reach = student_t(level, self.batches)? * self.standard_error + self.allowance;
        Some(Self { low: self.log - reach, high: self.log + reach, level, ..*self })
    }
}

/// The mean of one log ratio a block, with its Student t interval at `level`.
///
/// Values that are all equal give an interval of width zero. `None` below two values, if a value is
/// not finite (or so large that the sum is not), or unless 0 < `level` < 1.
pub fn paired(log_ratios: &[f64], level: f64) -> Option<Estimate> {
    if log_ratios.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let blocks = u32::try_from(log_ratios.len()).ok().filter(|&blocks| blocks >= 2)?;
    let log = log_ratios.mean();
    let standard_error = log_ratios.std_dev() / f64::from(blocks).sqrt();
    Estimate::of(log, standard_error, blocks, blocks)
        .at_level(level)
        .filter(|estimate| estimate.half_width().is_finite())
}

/// Half width of a two-sided t interval at `level` of so many values, in standard errors; `None`
/// below two values, or unless 0 < `level` < 1.
///
/// For many blocks the normal quantile with the first term of its expansion (Abramowitz and Stegun
/// 1964, 26.7.5), which is closer there than the inverse of the incomplete beta function.
pub fn student_t(level: f64, blocks: u32) -> Option<f64> {
    if !(level > 0.0 && level < 1.0) || blocks < 2 {
        return None;
    }
    let (freedom, share) = (f64::from(blocks - 1), 0.5 + level / 2.0);
    if blocks < EXPANSION_FROM_BLOCKS {
        return Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(share));
    }
    let normal = Normal::standard().inverse_cdf(share);
    Some(normal + (normal.powi(3) + normal) / (4.0 * freedom))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_textbook_sample_gives_the_textbook_interval() {
        // Gosset's sleep data (Student 1908): extra hours of sleep, ten patients, two drugs.
        let extra_hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let estimate = paired(&extra_hours, 0.95).unwrap();
        insta::assert_snapshot!(
            format!("{:.4} [{:.4}, {:.4}]", estimate.log, estimate.low, estimate.high),
            @"1.5800 [0.7001, 2.4599]"
        );
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (level, blocks, table) in [
            (0.95, 2, 12.7062),
            (0.90, 6, 2.0150),
            (0.95, 10, 2.2622),
            (0.99, 21, 2.8453),
            (0.95, 10_001, 1.9602),
            (0.95, u32::MAX, 1.95996),
        ] {
            let quantile = student_t(level, blocks).unwrap();
            assert!((quantile - table).abs() < 1e-4, "{level} {blocks}: {quantile}, not {table}");
        }
    }

    #[test]
    fn the_expansion_joins_on() {
        for level in [0.5, 0.9, 0.95, 0.99] {
            let [before, after] = [1, 0].map(|less| student_t(level, EXPANSION_FROM_BLOCKS - less));
            assert!((before.unwrap() - after.unwrap()).abs() < 1e-6);
        }
    }

    #[test]
    fn equal_values_give_a_point_and_no_nan() {
        let estimate = paired(&[0.1; 7], 0.95).unwrap();
        assert_eq!((estimate.low, estimate.log, estimate.high), (0.1, 0.1, 0.1));
        assert_eq!(estimate.standard_error, 0.0);
    }

    #[test]
    fn what_cannot_be_estimated_is_none() {
        assert_eq!(paired(&[], 0.95), None);
        assert_eq!(paired(&[0.1], 0.95), None);
        assert_eq!(paired(&[0.1, f64::NAN, 0.2], 0.95), None);
        assert_eq!(paired(&[0.1, f64::INFINITY], 0.95), None);
        assert_eq!(paired(&[f64::MAX, -f64::MAX], 0.95), None);
        for level in [0.0, 1.0, -1.0, 95.0, f64::NAN] {
            assert_eq!(paired(&[0.1, 0.2], level), None);
        }
    }

    proptest! {
        #[test]
        fn turning_the_ratio_round_mirrors_the_estimate(
            values in prop::collection::vec(-3.0..3.0, 2..40),
        ) {
            let estimate = paired(&values, 0.95).unwrap();
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            let turned = paired(&turned, 0.95).unwrap();
            prop_assert!((estimate.log + turned.log).abs() < 1e-12);
            prop_assert!((estimate.low + turned.high).abs() < 1e-9);
            prop_assert!(estimate.low <= estimate.log && estimate.log <= estimate.high);
        }

        #[test]
        fn more_confidence_takes_more_room(
            values in prop::collection::vec(-3.0..3.0, 2..40),
            lower in 0.5..0.9,
            more in 0.01..0.09,
        ) {
            let narrow = paired(&values, lower).unwrap();
            prop_assert!(narrow.at_level(lower + more).unwrap().half_width() >= narrow.half_width());
        }
    }
}
