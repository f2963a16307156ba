//! Comparing two runs that share no blocks: Welch's interval, widened by the variance between equal runs.
//!
//! Samples of one run share its page colours, its memory layout and the state of the clock, so that the run is the
//! unit of analysis and its blocks say nothing about the next run (Kalibera and Jones 2013; Curtsinger and Berger
//! 2013). How much equal runs differ is known from earlier ones only; without them a cautious floor takes their place.

use crate::change_points::change_points;
use crate::estimate::{Estimate, student_t};

/// The deviation of equal runs that is assumed where nothing is known of them, as a share: the floor.
///
/// 95 % of the differences between two equal runs are then at most 6.9 % (1.96 deviations of a difference).
/// `docs/comparing.md` has measured differences of equal runs, and how often false alarms are raised with this floor.
pub const FLOOR_DEVIATION: f64 = 0.025;
/// Weight of the floor, in degrees of freedom of a history: a long history replaces it.
const FLOOR_WEIGHT: f64 = 2.5;

/// Value of a quantity in one run: its logarithm, and the standard error by the run's own blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunValue {
    /// The natural logarithm of the value.
    pub log: f64,
    /// Standard error within the run, on the log scale.
    pub standard_error: f64,
    /// The blocks that it rests on.
    pub blocks: u32,
}

impl RunValue {
    /// From a value with the t interval at `level` of so many blocks, none of them on the log scale.
    ///
    /// `None` unless value and limits are positive and finite. An interval of fewer than two blocks is taken for a normal
    /// one: nothing is known of its degrees of freedom.
    pub fn of_interval(value: f64, [low, high]: [f64; 2], level: f64, blocks: u32) -> Option<Self> {
        let is_log = |it: &f64| it.is_finite() && *it > 0.0;
        if ![value, low, high].iter().all(is_log) || low > high {
            return None;
        }
        let blocks = if blocks < 2 { u32::MAX } else { blocks };
        let reach = student_t(level, blocks)?;
        Some(Self { log: value.ln(), standard_error: (high / low).ln() / 2.0 / reach, blocks })
    }

    /// The value as an estimate, with its interval at `level`; `None` if it is not finite, or unless 0 < `level` < 1.
    pub fn estimate(&self, level: f64) -> Option<Estimate> {
        let is_finite = self.log.is_finite() && self.standard_error.is_finite();
        is_finite
            .then(|| Estimate::of(self.log, self.standard_error, self.blocks, self.blocks))?
            .at_level(level)
    }

    pub(crate) fn variance(&self) -> f64 {
        self.standard_error.powi(2)
    }

    pub(crate) fn freedom(&self) -> f64 {
        f64::from(self.blocks.max(2) - 1)
    }
}

/// The share of histories without a change of which a part is left out.
const CHANGE_ERROR_RATE: f64 = 0.05;
/// The seed of the permutations: the same history gives the same answer.
const SEED: u64 = 1;

/// Those of earlier runs, in the order of time, that follow their last change of level: what came before is another
/// program or another machine, and no noise between equal runs.
pub fn since_last_change(runs: &[RunValue]) -> &[RunValue] {
    let logs: Vec<f64> = runs.iter().map(|run| run.log).collect();
    let last = change_points(&logs, CHANGE_ERROR_RATE, SEED).last().map_or(0, |it| it.index);
    &runs[last..]
}

/// Difference between equal runs of one quantity beyond what their own blocks explain, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetweenRuns {
    /// The part of the variance that is fixed: the floor's.
    fixed: f64,
    /// The part that is estimated from the history.
    estimated: f64,
    /// Degrees of freedom of that estimate.
    freedom: f64,
    /// Earlier runs that it rests on.
    pub runs: usize,
}

impl BetweenRuns {
    /// From earlier runs, in groups of equal ones: the variance within groups beyond what the runs' own blocks
    /// explain (the method of moments for random effects: Hedges 1983; DerSimonian and Laird 1986), drawn towards the
    /// floor as far as the history is short (as Smyth 2004 does with variances of few values).
    pub fn of_history(groups: &[Vec<RunValue>]) -> Self {
        let groups = || groups.iter().filter(|group| group.len() >= 2);
        let freedom: f64 = groups().map(|group| (group.len() - 1) as f64).sum();
        let squares: f64 = groups().map(|group| squares(group)).sum();
        let within = groups().flatten().map(RunValue::variance).sum::<f64>()
            / groups().map(Vec::len).sum::<usize>().max(1) as f64;
        let beyond = if freedom > 0.0 { (squares / freedom - within).max(0.0) } else { 0.0 };
        let floor = FLOOR_WEIGHT / (FLOOR_WEIGHT + freedom);
        Self {
            fixed: floor * FLOOR_DEVIATION.powi(2),
            estimated: (1.0 - floor) * beyond,
            freedom,
            runs: groups().map(Vec::len).sum(),
        }
    }

    /// Of quantities that do not differ from run to run: figures of one run, or of a deterministic simulation.
    pub fn none() -> Self {
        Self { fixed: 0.0, estimated: 0.0, freedom: 0.0, runs: 0 }
    }

    /// The deviation of equal runs that is reckoned with, on the log scale.
    pub fn deviation(&self) -> f64 {
        (self.fixed + self.estimated).sqrt()
    }
}

/// The sum of squared distances from the mean.
fn squares(group: &[RunValue]) -> f64 {
    let mean = group.iter().map(|run| run.log).sum::<f64>() / group.len() as f64;
    group.iter().map(|run| (run.log - mean).powi(2)).sum()
}

/// The log ratio `other / base` of two runs without common blocks, with its interval at `level`: Welch 1947, with the
/// degrees of freedom of Satterthwaite 1946 rounded down, and the variance between runs once for each run.
///
/// `None` if a value is not finite, or unless 0 < `level` < 1.
pub fn unpaired(
    base: &RunValue,
    other: &RunValue,
    between: &BetweenRuns,
    level: f64,
) -> Option<Estimate> {
    // Both runs draw their own difference from the same history, so that its part has the history's freedom.
    let estimated = 2.0 * between.estimated;
    let variance = 2.0 * between.fixed + estimated + base.variance() + other.variance();
    let parts = [
        (estimated, between.freedom.max(1.0)),
        (base.variance(), base.freedom()),
        (other.variance(), other.freedom()),
    ];
    let uncertainty: f64 = parts.iter().map(|(part, freedom)| part.powi(2) / freedom).sum();
    let freedom = if uncertainty > 0.0 { variance.powi(2) / uncertainty } else { f64::INFINITY };
    // As many values have one degree of freedom less; the conversion saturates.
    let values = (freedom.floor() as u32).max(1).saturating_add(1);
    let log = other.log - base.log;
    let blocks = base.blocks.min(other.blocks);
    (log.is_finite() && variance.is_finite())
        .then(|| Estimate::of(log, variance.sqrt(), blocks, values))?
        .at_level(level)
}

/// The level of each of several intervals that hold together at `confidence` (Bonferroni 1936). That one of them shows a
/// change is as probable as with the first step of Holm 1979, so that Holm's method raises the same alarms.
pub fn level_of_each(confidence: f64, comparisons: usize) -> f64 {
    1.0 - (1.0 - confidence) / comparisons.max(1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(log: f64, standard_error: f64, blocks: u32) -> RunValue {
        RunValue { log, standard_error, blocks }
    }

    #[test]
    fn an_interval_gives_its_standard_error_back() {
        let half: f64 = 2.2622 * 0.01;
        let value = RunValue::of_interval(2.0, [2.0 * (-half).exp(), 2.0 * half.exp()], 0.95, 10);
        let value = value.unwrap();
        assert!((value.standard_error - 0.01).abs() < 1e-6 && value.log == 2_f64.ln());
        for [low, high] in [[0.0, 1.0], [-1.0, 1.0], [2.0, 1.0], [1.0, f64::INFINITY]] {
            assert_eq!(RunValue::of_interval(1.0, [low, high], 0.95, 10), None);
        }
        assert_eq!(RunValue::of_interval(-1.0, [0.5, 1.0], 0.95, 10), None);
    }

    #[test]
    fn without_a_difference_between_runs_it_is_welchs_interval() {
        // Welch's degrees of freedom are 0.0005^2 / (0.0004^2 / 9 + 0.0001^2 / 4) = 12.3.
        let [one, other] = [run(0.0, 0.02, 10), run(0.1, 0.01, 5)];
        let estimate = unpaired(&one, &other, &BetweenRuns::none(), 0.95).unwrap();
        assert_eq!((estimate.log, estimate.batches, estimate.blocks), (0.1, 13, 5));
        assert!((estimate.half_width() - 2.1788 * 0.0005_f64.sqrt()).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn without_history_the_floor_is_all_that_is_reckoned_with() {
        for groups in [&[][..], &[vec![run(0.3, 0.01, 10)]]] {
            let between = BetweenRuns::of_history(groups);
            assert_eq!((between.runs, between.deviation()), (0, FLOOR_DEVIATION));
            let exact = run(0.0, 0.0, 10);
            let reach = unpaired(&exact, &exact, &between, 0.95).unwrap().half_width();
            assert!((reach - 0.0693).abs() < 1e-4, "{reach}");
        }
    }

    #[test]
    fn a_long_history_replaces_the_floor() {
        let history = |deviation: f64, runs: usize| {
            let value = |index: usize| if index.is_multiple_of(2) { deviation } else { -deviation };
            vec![(0..runs).map(|index| run(value(index), 0.0, 10)).collect::<Vec<_>>()]
        };
        let deviation = |of: f64, runs| BetweenRuns::of_history(&history(of, runs)).deviation();
        assert!((deviation(0.001, 1000) - 0.001).abs() < 1e-3);
        assert!((deviation(0.08, 1000) - 0.08).abs() < 1e-3);
        assert!(deviation(0.001, 4) > deviation(0.001, 10));
        assert!(
            deviation(0.001, 10) < FLOOR_DEVIATION / 2.0,
            "two and a half of eleven and a half parts"
        );
    }

    #[test]
    fn runs_before_a_change_of_level_are_no_equal_runs() {
        let ripple = |index: usize| 0.001 * ((index as f64) * 2.4).sin();
        let at = |level: f64| move |index: usize| run(level + ripple(index), 0.001, 10);
        let steady: Vec<RunValue> = (0..20).map(at(0.0)).collect();
        assert_eq!(since_last_change(&steady), steady);
        let stepped: Vec<RunValue> = (0..6).map(at(0.0)).chain((0..6).map(at(0.26))).collect();
        assert_eq!(since_last_change(&stepped), &stepped[6..]);
        assert_eq!(since_last_change(&[]), []);
    }

    #[test]
    fn groups_may_lie_apart_and_blocks_explain_their_part() {
        let near = |log: f64| vec![run(log, 0.0, 10), run(log + 0.001, 0.0, 10)];
        let apart = BetweenRuns::of_history(&[near(0.0), near(3.0)]);
        assert_eq!((apart.runs, apart.freedom), (4, 2.0));
        assert!(apart.estimated < 1e-6);
        let noisy = vec![run(0.0, 0.1, 10), run(0.1, 0.1, 10), run(-0.1, 0.1, 10)];
        assert_eq!(BetweenRuns::of_history(&[noisy]).estimated, 0.0);
    }

    #[test]
    fn all_intervals_together_hold_at_the_confidence() {
        assert_eq!(level_of_each(0.95, 1), 0.95);
        assert!((level_of_each(0.95, 10) - 0.995).abs() < 1e-12);
        assert_eq!(level_of_each(0.95, 0), 0.95);
    }

    proptest! {
        #[test]
        fn exchanging_the_runs_mirrors_the_estimate(
            logs in prop::array::uniform2(-3.0..3.0_f64),
            errors in prop::array::uniform2(0.0..0.5_f64),
            history in prop::collection::vec(-0.2..0.2_f64, 0..12),
        ) {
            let [one, other] = [0, 1].map(|index| run(logs[index], errors[index], 9));
            let group = history.iter().map(|&log| run(log, 0.01, 9)).collect();
            let between = BetweenRuns::of_history(&[group]);
            let estimate = unpaired(&one, &other, &between, 0.95).unwrap();
            let mirrored = unpaired(&other, &one, &between, 0.95).unwrap();
            prop_assert!((estimate.low + mirrored.high).abs() < 1e-9);
            prop_assert!(estimate.half_width() >= 0.0 && estimate.half_width().is_finite());
        }
    }
}
