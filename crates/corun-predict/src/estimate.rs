//! Estimates from several runs, and ratios of estimates, with their intervals.

use corun_model::PredictionError;
use corun_record::Estimate;
use corun_stats::student_t;

/// The confidence of every interval here.
pub(crate) const LEVEL: f64 = 0.95;

/// A figure from independent repetitions: their geometric mean with its t interval; none without any, or
/// if one is not above 0.
pub(crate) fn repeated(values: &[f64]) -> Option<Estimate> {
    if let [value] = *values {
        let is_sound = value.is_finite() && value > 0.0;
        return is_sound.then_some(Estimate {
            value,
            low: value,
            high: value,
            level: LEVEL,
            blocks: 1,
        });
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let found = corun_stats::paired(&logs, LEVEL)?;
    let [value, low, high] = found.ratio();
    Some(Estimate { value, low, high, level: LEVEL, blocks: found.blocks })
}

/// One figure over another that was found independently of it; on the log scale their half-widths add up
/// as the sides of a right angle.
pub fn over(one: &Estimate, other: &Estimate) -> Estimate {
    let value = one.value / other.value;
    let sides = |first: f64, second: f64| (first.ln().powi(2) + second.ln().powi(2)).sqrt().exp();
    Estimate {
        value,
        low: value / sides(one.value / one.low, other.high / other.value),
        high: value * sides(one.high / one.value, other.value / other.low),
        level: one.level,
        blocks: one.blocks.min(other.blocks),
    }
}

/// A figure whose interval also has the error that predictions of other programs had; on the log scale their half-widths add
/// up as the sides of a right angle.
pub fn with_error(figure: &Estimate, error: PredictionError) -> Estimate {
    let reach = student_t(LEVEL, error.programs + 1).unwrap_or(f64::INFINITY) * error.log_error;
    let side = |limit: f64| (limit.max(0.0) / figure.value).ln().hypot(reach).exp();
    let (low, high) = (figure.value / side(figure.low), figure.value * side(figure.high));
    Estimate { low, high, ..*figure }
}

/// A figure of which such a share is not known, but that it would be within these limits if all were: the interval holds them
/// for that share.
pub(crate) fn with_missing(known: &Estimate, share: f64, [least, most]: [f64; 2]) -> Estimate {
    let low = known.low + share * (least.min(known.low) - known.low);
    let high = known.high + share * (most.max(known.high) - known.high);
    Estimate { low, high, ..*known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_as_uncertain_as_both_together() {
        let sure = Estimate { value: 6.0, low: 6.0, high: 6.0, level: 0.95, blocks: 1 };
        let unsure = Estimate { value: 3.0, low: 2.0, high: 4.5, level: 0.95, blocks: 5 };
        let ratio = over(&sure, &unsure);
        assert!((ratio.value - 2.0).abs() < 1e-12);
        assert!((ratio.low - 6.0 / 4.5).abs() < 1e-9 && (ratio.high - 3.0).abs() < 1e-9);
        let both = over(&unsure, &unsure);
        assert!((both.high - (2_f64.sqrt() * 1.5_f64.ln()).exp()).abs() < 1e-9, "{both:?}");
    }

    #[test]
    fn an_error_of_the_model_widens_the_interval() {
        let sure = Estimate { value: 2.0, low: 2.0, high: 2.0, level: LEVEL, blocks: 1 };
        let error = PredictionError { programs: 8, log_error: 0.1 };
        let found = with_error(&sure, error);
        // The quantile of eight degrees of freedom.
        assert!(((found.high / 2.0).ln() - 0.2306).abs() < 1e-4, "{found:?}");
        assert!((found.low * found.high - 4.0).abs() < 1e-12);
        let unsure = Estimate { low: 1.5, high: 3.0, ..sure };
        let both = with_error(&unsure, error);
        assert!(both.low < 1.5 && both.low > found.low - 0.5 && both.high > 3.0, "{both:?}");
        let unknown = Estimate { low: 0.0, high: f64::INFINITY, ..sure };
        assert_eq!(with_error(&unknown, error), unknown);
    }

    #[test]
    fn what_is_missing_widens_the_interval_by_its_share() {
        let known = Estimate { value: 2.0, low: 1.8, high: 2.2, level: 0.95, blocks: 9 };
        let of = |share| {
            let found = with_missing(&known, share, [1.0, 4.0]);
            (found.low, found.high)
        };
        assert_eq!(of(0.0), (1.8, 2.2));
        let (low, high) = of(0.5);
        assert!((low - 1.4).abs() < 1e-12 && (high - 3.1).abs() < 1e-12, "{low} {high}");
        assert_eq!(of(1.0), (1.0, 4.0));
        assert_eq!(with_missing(&known, 1.0, [1.9, 2.1]), known, "it is never narrower");
    }

    #[test]
    fn repetitions_have_an_interval_and_one_run_has_none() {
        let found = repeated(&[1.0, 4.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12 && found.low < 1.0 && found.high > 4.0);
        let single = repeated(&[3.0]).unwrap();
        assert_eq!((single.value, single.low, single.high), (3.0, 3.0, 3.0));
        assert_eq!(repeated(&[]), None);
        assert_eq!(repeated(&[0.0]), None);
        assert_eq!(repeated(&[1.0, 0.0]), None);
    }
}
