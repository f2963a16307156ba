//! Which part of a run is simulated: all of a short one, windows spread over a long one.

use corun_trace::Plan;

/// What to simulate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sampling {
    /// The whole run if it is short, windows spread over it if it is long.
    #[default]
    Fitting,
    /// The whole run.
    Whole,
    /// So many instructions from the start on.
    Start(u64),
    /// Windows spread evenly over the run.
    Windows {
        /// How many.
        count: u32,
        /// Instructions of each.
        length: u64,
        /// Instructions before each that warm caches and predictors; as many as by default, if none.
        warm_up: Option<u64>,
    },
}

/// Instructions of a run that is simulated whole: some seconds.
const SHORT: u64 = 20_000_000;
/// Windows of a longer one.
const WINDOWS: u32 = 400;
/// Instructions of each, so that together they are half of a short run.
const LENGTH: u64 = SHORT / (2 * WINDOWS as u64);
/// Instructions of the warm-up before each, which the pipeline never sees but for the last.
const WARM_UP: u64 = 1_000_000;

impl Sampling {
    /// Whether the instructions of the run have to be counted first.
    pub fn needs_count(self) -> bool {
        matches!(self, Self::Fitting | Self::Windows { .. })
    }

    /// What a tracer is to record of a run of `total` instructions, all threads together.
    pub fn plan(self, total: u64) -> Plan {
        let windows = |count, length, warm_up| Plan::Samples { count, length, warm_up, total };
        match self {
            Self::Fitting if total <= SHORT => Plan::Whole,
            Self::Fitting => windows(WINDOWS, LENGTH, WARM_UP),
            Self::Whole => Plan::Whole,
            Self::Start(length) => Plan::Window { skip: 0, length: Some(length) },
            Self::Windows { count, length, warm_up } => {
                windows(count, length, warm_up.unwrap_or(WARM_UP))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_taken_whole_and_long_ones_in_windows() {
        assert_eq!(Sampling::Fitting.plan(20_000_000), Plan::Whole);
        let Plan::Samples { count, length, total, .. } = Sampling::Fitting.plan(20_000_001) else {
            panic!("expected windows");
        };
        assert_eq!(total, 20_000_001);
        assert!(u64::from(count) * length <= 10_000_000);
        assert!(count >= 10);
    }

    #[test]
    fn what_is_asked_for_is_done() {
        assert_eq!(Sampling::Whole.plan(u64::MAX), Plan::Whole);
        assert_eq!(Sampling::Start(5).plan(9), Plan::Window { skip: 0, length: Some(5) });
        for (warm_up, planned) in [(None, WARM_UP), (Some(2), 2)] {
            let windows = Plan::Samples { count: 3, length: 7, warm_up: planned, total: 9 };
            assert_eq!(Sampling::Windows { count: 3, length: 7, warm_up }.plan(9), windows);
        }
        let windows = Sampling::Windows { count: 1, length: 1, warm_up: None };
        let count = [Sampling::Fitting, windows].map(Sampling::needs_count);
        assert_eq!(count, [true; 2]);
        let none = [Sampling::Whole, Sampling::Start(1)].map(Sampling::needs_count);
        assert_eq!(none, [false; 2]);
    }
}
