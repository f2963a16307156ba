//! From windows to the whole run: a ratio estimate, and how far it can be off by their choice.
//!
//! Cycles a run are the ratio of cycles to instructions in the windows times the run's instructions; its
//! variance is that of a ratio estimator without replacement (Cochran 1977, Sampling Techniques, 6.4).
//! Windows that lie evenly are mostly better than that, so the interval is on the safe side.

use corun_measure::statistics::student_t;
use corun_record::{Estimate, PredictedWindow};

/// The confidence of every interval here.
const LEVEL: f64 = 0.95;

/// Cycles of a run of `total` instructions, from those of its windows; none without windows.
///
/// A run that was simulated whole, or in a single window, has an interval without width: nothing is known
/// then of what another window would give.
pub fn extrapolated(windows: &[PredictedWindow], total: u64) -> Option<Estimate> {
    let instructions: u64 = windows.iter().map(|window| window.instructions).sum();
    let cycles: u64 = windows.iter().map(|window| window.cycles).sum();
    if instructions == 0 {
        return None;
    }
    let rate = cycles as f64 / instructions as f64;
    let count = windows.len() as f64;
    let mean = instructions as f64 / count;
    let residuals = windows.iter().map(|window| {
        let expected = rate * window.instructions as f64;
        (window.cycles as f64 - expected).powi(2)
    });
    let left_out = (1.0 - instructions as f64 / total.max(1) as f64).max(0.0);
    let half = match student_t(LEVEL, windows.len() as u32) {
        Some(reach) => {
            let variance = residuals.sum::<f64>() / (count - 1.0);
            reach * (left_out * variance / count).sqrt() / mean
        }
        None => 0.0,
    };
    let scaled = |rate: f64| rate * total as f64;
    Some(Estimate {
        value: scaled(rate),
        // No instruction takes no time.
        low: scaled((rate - half).max(0.0)),
        high: scaled(rate + half),
        level: LEVEL,
        blocks: windows.len() as u32,
    })
}

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
    let found = corun_measure::statistics::paired(&logs, LEVEL)?;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows(cycles: &[u64], instructions: u64) -> Vec<PredictedWindow> {
        let window = |(index, &cycles)| PredictedWindow {
            begin: index as u64 * 2 * instructions,
            instructions,
            cycles,
        };
        cycles.iter().enumerate().map(window).collect()
    }

    #[test]
    fn a_whole_run_is_what_it_is() {
        let all = extrapolated(&windows(&[700], 1000), 1000).unwrap();
        assert_eq!((all.value, all.low, all.high, all.blocks), (700.0, 700.0, 700.0, 1));
        assert_eq!(extrapolated(&[], 1000), None);
    }

    #[test]
    fn windows_give_the_textbook_interval() {
        // Rates 0.8, 1.0 and 1.2 a hundred instructions: deviation 20, t(2) = 4.30265.
        let found = extrapolated(&windows(&[80, 100, 120], 100), 1_000_000_000).unwrap();
        assert!((found.value - 1e9).abs() < 1.0, "{found:?}");
        let half = 4.302_652_7 * 20.0 / 3_f64.sqrt() / 100.0;
        assert!((found.high / 1e9 - 1.0 - half).abs() < 1e-6, "{found:?}");
        assert!((1.0 - found.low / 1e9 - half).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn windows_that_leave_nothing_out_have_no_width() {
        let found = extrapolated(&windows(&[80, 100, 120], 100), 300).unwrap();
        assert_eq!((found.value, found.low, found.high), (300.0, 300.0, 300.0));
    }

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
    fn repetitions_have_an_interval_and_one_run_has_none() {
        let found = repeated(&[1.0, 4.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12 && found.low < 1.0 && found.high > 4.0);
        let single = repeated(&[3.0]).unwrap();
        assert_eq!((single.value, single.low, single.high), (3.0, 3.0, 3.0));
        assert_eq!(repeated(&[]), None);
        assert_eq!(repeated(&[0.0]), None);
        assert_eq!(repeated(&[1.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn the_estimate_lies_between_the_slowest_and_the_fastest_window(
            cycles in prop::collection::vec(1_u64..100_000, 1..40),
            total in 1_u64..1 << 40,
        ) {
            let found = extrapolated(&windows(&cycles, 1000), total).unwrap();
            let rate = |cycles: Option<&u64>| *cycles.unwrap() as f64 / 1000.0 * total as f64;
            prop_assert!(found.low <= found.value && found.value <= found.high);
            prop_assert!(found.value >= rate(cycles.iter().min()) * (1.0 - 1e-9));
            prop_assert!(found.value <= rate(cycles.iter().max()) * (1.0 + 1e-9));
        }
    }
}
