//! From the readings of all rounds to an estimate and a verdict.
//!
//! A claim needs evidence in either direction. "Holds": the 90 % interval lies within the bound, as
//! two one-sided tests ask (Schuirmann 1987). "Violated": the 95 % interval lies beyond it, even
//! after everything is granted that others' work could account for. All else is inconclusive.

use corun_record::{AuditBound, AuditVerdict, Estimate, Metric};
use corun_stats::paired;

use crate::property::Reading;

/// Fewer rounds settle nothing.
pub(crate) const FEWEST_ROUNDS: usize = 5;

/// Times are estimated on the log scale; shorter ones than this count as this long, in seconds.
const SHORTEST_S: f64 = 1e-6;

/// Tolerance of a value on a bound after its way through the log scale.
const ROUNDING: f64 = 1e-9;

/// Why a verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The figure is clear.
    Clear,
    /// There were too few rounds.
    TooFewRounds,
    /// The interval reaches to both sides of the bound.
    Straddles,
    /// The figure is beyond the bound, which the work of others could account for.
    Others,
}

impl Reason {
    /// The reason as a sentence; `None` for a clear verdict.
    pub(crate) fn sentence(self) -> Option<String> {
        Some(match self {
            Self::Clear => return None,
            Self::TooFewRounds => format!("It takes {FEWEST_ROUNDS} rounds to settle anything."),
            Self::Straddles => "The interval reaches to both sides of the bound.".to_owned(),
            Self::Others => {
                "The figure is beyond the bound, and what others did on these CPUs could account for it."
                    .to_owned()
            }
        })
    }
}

/// Scale on which figures of a kind are averaged.
#[derive(Debug, Clone, Copy)]
enum Scale {
    Plain,
    /// Times: one long one must not outweigh many short ones.
    Log,
}

impl Scale {
    fn of(metric: Metric) -> Self {
        if metric == Metric::Latency { Self::Log } else { Self::Plain }
    }

    fn there(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Log => value.max(SHORTEST_S).ln(),
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Log => value.exp(),
        }
    }
}

/// The mean of a figure with its interval; `None` below two values.
pub(crate) fn estimate(metric: Metric, values: &[f64], level: f64) -> Option<Estimate> {
    let scale = Scale::of(metric);
    let scaled: Vec<f64> = values.iter().map(|&value| scale.there(value)).collect();
    let mean = paired(&scaled, level)?;
    // Nothing that is counted is below nothing, and no share above all, whatever the t distribution says.
    let least = if mean.log >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    let (least, most) = match metric {
        Metric::TimeShare | Metric::LeastShare => (0.0, 1.0),
        _ => (least, f64::INFINITY),
    };
    let limit = |value: f64| scale.back(value).clamp(least, most);
    let value = scale.back(mean.log);
    let (low, high) = (limit(mean.low).min(value), limit(mean.high).max(value));
    Some(Estimate { value, low, high, level, blocks: mean.blocks })
}

/// The verdict on the readings of one figure.
pub(crate) fn judge(readings: &[&Reading], bound: AuditBound) -> (AuditVerdict, Reason) {
    let Some(metric) = readings.first().map(|reading| reading.figure.metric) else {
        return (AuditVerdict::Inconclusive, Reason::TooFewRounds);
    };
    if readings.len() < FEWEST_ROUNDS {
        return (AuditVerdict::Inconclusive, Reason::TooFewRounds);
    }
    let seen: Vec<f64> = readings.iter().map(|it| it.value).collect();
    let excused: Vec<f64> = readings.iter().map(|it| excuse(it, bound)).collect();
    let within = estimate(metric, &seen, 0.90).is_some_and(|it| bound.holds(it.low, it.high));
    let is_beyond = |values| {
        let it = estimate(metric, values, 0.95);
        it.is_some_and(|it| bound.excludes(it.low * (1.0 - ROUNDING), it.high * (1.0 + ROUNDING)))
    };
    match (within, is_beyond(&excused), is_beyond(&seen)) {
        (true, ..) => (AuditVerdict::Holds, Reason::Clear),
        (_, true, _) => (AuditVerdict::Violated, Reason::Clear),
        (.., true) => (AuditVerdict::Inconclusive, Reason::Others),
        _ => (AuditVerdict::Inconclusive, Reason::Straddles),
    }
}

/// The reading as close to the bound as others' work allows.
fn excuse(reading: &Reading, bound: AuditBound) -> f64 {
    let Reading { value, attributed, .. } = *reading;
    match (bound.at_least, bound.at_most) {
        (_, Some(most)) if value > most => (value - attributed).max(most),
        (Some(least), _) if value < least => (value + attributed).min(least),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::property::Figure;

    const TENTH: AuditBound = AuditBound { at_least: None, at_most: Some(0.1) };

    fn verdict(values: &[(f64, f64)], bound: AuditBound) -> (AuditVerdict, Reason) {
        let reading = |&(value, attributed): &(f64, f64)| {
            Figure::share("a share", "free").reads(value, attributed)
        };
        let readings: Vec<Reading> = values.iter().map(reading).collect();
        judge(&readings.iter().collect::<Vec<_>>(), bound)
    }

    #[test]
    fn each_verdict_has_its_conditions() {
        use AuditVerdict::{Holds, Inconclusive, Violated};
        for (values, expected) in [
            (&[(0.0, 0.0); 5][..], (Holds, Reason::Clear)),
            (&[(0.0, 0.0); 4], (Inconclusive, Reason::TooFewRounds)),
            (&[], (Inconclusive, Reason::TooFewRounds)),
            (&[(0.5, 0.1); 6], (Violated, Reason::Clear)),
            (&[(0.5, 0.45); 6], (Inconclusive, Reason::Others)),
            (
                &[(0.0, 0.0), (0.3, 0.0), (0.0, 0.0), (0.3, 0.0), (0.0, 0.0)],
                (Inconclusive, Reason::Straddles),
            ),
        ] {
            assert_eq!(verdict(values, TENTH), expected, "{values:?}");
        }
    }

    #[test]
    fn a_bound_of_two_sides_excuses_on_both() {
        let half = AuditBound { at_least: Some(0.45), at_most: Some(0.55) };
        assert_eq!(verdict(&[(0.5, 0.0); 5], half).0, AuditVerdict::Holds);
        assert_eq!(verdict(&[(0.3, 0.1); 5], half).0, AuditVerdict::Violated);
        assert_eq!(verdict(&[(0.7, 0.1); 5], half).0, AuditVerdict::Violated);
        assert_eq!(verdict(&[(0.3, 0.2); 5], half).1, Reason::Others);
    }

    #[test]
    fn times_that_others_explain_are_not_beyond_their_bound() {
        for attributed in [0.3, 0.4] {
            let reading = Figure::time("a time", "free").reads(0.4, attributed);
            let judged = judge(&[&reading; 6], TENTH);
            assert_eq!(judged, (AuditVerdict::Inconclusive, Reason::Others), "{attributed}");
        }
        let reading = Figure::time("a time", "free").reads(0.4, 0.2);
        assert_eq!(judge(&[&reading; 6], TENTH).0, AuditVerdict::Violated);
    }

    #[test]
    fn one_long_time_does_not_outweigh_many_short_ones() {
        let mut times = vec![0.004; 9];
        times.push(0.4);
        let times = estimate(Metric::Latency, &times, 0.95).unwrap();
        assert!(times.value < 0.007 && times.high < 0.02, "{times:?}");
    }

    #[test]
    fn no_share_is_below_nothing_or_above_all() {
        let shares = estimate(Metric::TimeShare, &[0.0, 0.0, 0.2], 0.95).unwrap();
        assert_eq!(shares.low, 0.0);
        let shares = estimate(Metric::TimeShare, &[1.0, 1.0, 0.8], 0.95).unwrap();
        assert_eq!(shares.high, 1.0);
    }

    proptest! {
        #[test]
        fn what_others_explain_never_makes_a_violation(
            values in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 5..20),
        ) {
            let unexplained: Vec<_> = values.iter().map(|it| (it.0, 0.0)).collect();
            let (with, without) = (verdict(&values, TENTH).0, verdict(&unexplained, TENTH).0);
            if with == AuditVerdict::Violated {
                prop_assert_eq!(without, AuditVerdict::Violated);
            }
            prop_assert_eq!(with == AuditVerdict::Holds, without == AuditVerdict::Holds);
        }

        #[test]
        fn an_estimate_lies_in_its_interval(
            values in proptest::collection::vec(0.0..1.0_f64, 2..20),
        ) {
            for metric in [Metric::TimeShare, Metric::Latency, Metric::Rate] {
                let it = estimate(metric, &values, 0.95).unwrap();
                prop_assert!(it.low <= it.value && it.value <= it.high, "{:?}", it);
            }
        }
    }
}
