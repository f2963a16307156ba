//! The choice of what is simulated: all of a short run, windows of a long one.

use corun_trace::{FromCall, PreRun, PreRunResult, Samples, SystemCall, TracePlan};

/// Part of a run to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// The whole run if it is short, windows spread over it if it is long.
    Fitting(Effort),
    /// The whole run.
    Whole,
    /// So many instructions from the start on.
    Start(u64),
    /// Windows of the run.
    Windows {
        /// Number of windows.
        count: u32,
        /// Instructions of each.
        length: u64,
        /// Instructions before each that warm caches and predictors, on average; the usual ones, if none.
        warm_up: Option<u64>,
    },
}

/// Effort: how much of a long run is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Windows.
    pub windows: u32,
    /// Instructions of all warm-ups together, which the pipeline never sees but for the last of each: the less of a run is
    /// left out between windows, the less has passed by what caches hold.
    pub warm_ups: u64,
    /// Seed of a place for each window in its part of the run; 0 for the middle.
    pub seed: u64,
    /// Instructions of a run that is simulated whole, at most.
    pub short: u64,
}

impl Effort {
    /// Plan that predicts a program alone.
    pub const FULL: Self = Self { windows: 400, warm_ups: 500_000_000, seed: 0, short: SHORT };

    /// Effort to simulate several times, alone and beside siblings, in about so many seconds on two CPUs.
    pub fn in_seconds(seconds: f64, seed: u64) -> Self {
        let share = (seconds / 60.0).clamp(0.2, 20.0);
        let windows = (400.0 * share).clamp(FEW.into(), 2000.0);
        Self { windows: windows as u32, warm_ups: (125e6 * share) as u64, seed, short: SHORT }
    }

    /// The part of it for which there is time in so many seconds.
    pub fn within(self, seconds: f64) -> Self {
        let share = (seconds / 60.0).clamp(0.0, 1.0);
        let windows = (f64::from(self.windows) * share).max(FEW.into()) as u32;
        Self { windows, warm_ups: (self.warm_ups as f64 * share) as u64, ..self }
    }

    /// Plan for a run that is simulated whole if that takes about so many seconds on two CPUs.
    pub fn whole_in(self, seconds: f64) -> Self {
        Self { short: (SHORT as f64 * (seconds / 60.0).clamp(0.0, 1.0)) as u64, ..self }
    }
}

/// Instructions of a run that is simulated whole, beside siblings too, in a minute on two CPUs.
const SHORT: u64 = 20_000_000;
/// Instructions of a window of a longer one: what windows say differs by where they lie, hardly by how long they are.
const LENGTH: u64 = 10_000;
/// Instructions of each at least, however many they are.
const WARM_UP: u64 = 1_000_000;
/// Instructions of the warm-up before a part that begins later: what a second level holds is used again after tens of
/// millions.
const WARM_UP_OF_PART: u64 = 50_000_000;

/// Windows that are so few that they miss much of what a run does, unless they are chosen by it.
const FEW: u32 = 50;

impl Sampling {
    /// The pre-run that the plan needs. It also decides whether a run is short.
    pub fn pre_run(self, from: Option<SystemCall>) -> PreRun {
        let from = from.map(|call| FromCall { call, warm_up: WARM_UP_OF_PART });
        PreRun { samples: self.samples(), from }
    }

    fn samples(self) -> Option<Samples> {
        let samples = |count: u32, length, warm_up: Option<u64>, seed, first_part| {
            let usual = (Effort::FULL.warm_ups / u64::from(count.max(1))).max(WARM_UP);
            let warm_up = warm_up.unwrap_or(usual);
            let look_back = Samples::usual_look_back(count);
            let are_chosen = count < FEW;
            Samples { count, length, warm_up, are_chosen, seed, look_back, first_part }
        };
        match self {
            Self::Fitting(Effort { windows, warm_ups, seed, .. }) => {
                let warm_up = warm_ups / u64::from(windows.max(1));
                Some(samples(windows, LENGTH, Some(warm_up), seed, LENGTH))
            }
            Self::Whole | Self::Start(_) => None,
            Self::Windows { count, length, warm_up } => Some(samples(count, length, warm_up, 0, 0)),
        }
    }

    /// The plan of the recorded run, given the result of the pre-run if there was one.
    pub fn plan(self, found: Option<&PreRunResult>) -> TracePlan {
        let samples = found.and_then(|found| found.samples.clone());
        let plan = match (self, samples) {
            (Self::Start(length), _) => TracePlan::Window { skip: 0, length: Some(length) },
            (Self::Windows { .. }, Some(samples)) => samples,
            (Self::Fitting(effort), Some(samples))
                if found.is_some_and(|it| it.total > effort.short) =>
            {
                samples
            }
            _ => TracePlan::Whole,
        };
        match found {
            Some(found) => found.after(plan),
            None => plan,
        }
    }

    /// Windows of the first instructions of a run whose length is not known.
    pub(crate) fn plan_of_first(self, total: u64) -> TracePlan {
        match self.samples() {
            None => TracePlan::Window { skip: 0, length: Some(total) },
            Some(Samples { count, length, warm_up, seed, look_back, .. }) => {
                TracePlan::Samples { count, length, warm_up, total, seed, look_back, first_part: 0 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use corun_trace::{Ending, Traced};

    use super::*;

    const FITTING: Sampling = Sampling::Fitting(Effort::FULL);

    fn found(sampling: Sampling, total: u64) -> PreRunResult {
        let samples = sampling.samples().map(|samples| {
            let Samples { count, length, warm_up, seed, look_back, first_part, .. } = samples;
            TracePlan::Samples { count, length, warm_up, total, seed, look_back, first_part }
        });
        let traced = Traced {
            ending: Ending::Exited(0),
            instructions: total,
            becomes_another: false,
            remarks: Vec::new(),
        };
        PreRunResult { before: 0, warm_up: 0, total, samples, traced }
    }

    fn planned(sampling: Sampling, total: u64) -> TracePlan {
        sampling.plan(Some(&found(sampling, total)))
    }

    #[test]
    fn short_runs_are_taken_whole_and_long_ones_in_windows() {
        assert_eq!(planned(FITTING, 20_000_000), TracePlan::Whole);
        let TracePlan::Samples { count, length, total, .. } = planned(FITTING, 20_000_001) else {
            panic!("expected windows");
        };
        assert_eq!(total, 20_000_001);
        assert!(u64::from(count) * length <= 10_000_000);
        assert!(count >= 10);
    }

    #[test]
    fn more_time_simulates_more_and_never_too_few_windows() {
        let efforts = [0.0, 12.0, 60.0, 600.0, 1e9].map(|it| Effort::in_seconds(it, 0));
        assert!(efforts.is_sorted_by_key(|it| (it.windows, it.warm_ups)));
        assert!(efforts.iter().all(|it| it.windows >= FEW && it.warm_ups >= 10_000_000));
        let (windows, warm_ups) = (400, 125_000_000);
        assert_eq!(efforts[2], Effort { windows, warm_ups, seed: 0, short: SHORT });
        // A quarter of the time is for a quarter of the longest run that is simulated whole.
        let quarter = Sampling::Fitting(efforts[2].whole_in(15.0));
        assert_eq!(planned(quarter, SHORT / 4), TracePlan::Whole);
        assert!(matches!(planned(quarter, SHORT / 4 + 1), TracePlan::Samples { .. }));
        assert_eq!(efforts[2].whole_in(6000.0), efforts[2]);
    }

    #[test]
    fn what_is_asked_for_is_done() {
        assert_eq!(planned(Sampling::Whole, u64::MAX), TracePlan::Whole);
        let start = TracePlan::Window { skip: 0, length: Some(5) };
        assert_eq!(planned(Sampling::Start(5), 9), start);
        let usual = [
            (10, None, 50_000_000),
            (100, None, 5_000_000),
            (3000, None, 1_000_000),
            (3, Some(2), 2),
        ];
        for (count, asked, warm_up) in usual {
            let look_back = Samples::usual_look_back(count);
            let windows = TracePlan::Samples {
                count,
                length: 7,
                warm_up,
                total: 9,
                seed: 0,
                look_back,
                first_part: 0,
            };
            let sampling = Sampling::Windows { count, length: 7, warm_up: asked };
            assert_eq!(planned(sampling, 9), windows);
        }
    }

    #[test]
    fn the_counted_part_may_begin_after_a_system_call() {
        let from = Some(SystemCall(110));
        let pre_run = Sampling::Whole.pre_run(from);
        assert!(pre_run.is_needed() && pre_run.learns() && pre_run.samples.is_none());
        assert!(!Sampling::Whole.pre_run(None).is_needed());
        for sampling in [Sampling::Whole, Sampling::Start(5), FITTING] {
            let later = PreRunResult { before: 70, warm_up: 30, ..found(sampling, 1000) };
            let rest = Box::new(planned(sampling, 1000));
            let plan = sampling.plan(Some(&later));
            assert_eq!(plan, TracePlan::After { skip: 70, warm_up: 30, rest });
        }
    }

    #[test]
    fn few_windows_are_chosen_and_many_spread() {
        let are_chosen = |sampling: Sampling| sampling.samples().map(|samples| samples.are_chosen);
        let windows = |count| Sampling::Windows { count, length: 1, warm_up: None };
        assert_eq!(are_chosen(windows(FEW - 1)), Some(true));
        assert_eq!(are_chosen(windows(FEW)), Some(false));
        assert_eq!(are_chosen(FITTING), Some(false));
        assert_eq!([Sampling::Whole, Sampling::Start(1)].map(are_chosen), [None; 2]);
    }
}
