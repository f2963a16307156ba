//! Which part of a run is recorded.

use serde::{Deserialize, Serialize};

use crate::Phase;

/// What to record, counted in instructions of all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// From start to end.
    #[default]
    Whole,
    /// One stretch.
    Window {
        /// Left out before it.
        skip: u64,
        /// Its length; to the end of the run if there is none.
        length: Option<u64>,
    },
    /// Stretches spread evenly over a run of a known length, each after a warm-up stretch.
    Samples {
        /// How many stretches.
        count: u32,
        /// Instructions of a counted stretch.
        length: u64,
        /// Instructions recorded before each to fill caches and predictors.
        warm_up: u64,
        /// Instructions of the whole run.
        total: u64,
    },
    /// Nothing: the instructions of the whole run are counted, and its output is thrown away.
    Count,
}

/// A part of a run that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// What it is for.
    pub phase: Phase,
    /// Its first instruction, counted over all threads.
    pub begin: u64,
    /// The first one behind it.
    pub end: u64,
}

impl Plan {
    /// The stretches in their order; none is empty, none overlaps another.
    ///
    /// Samples lie in the middle of equal parts of the run (systematic sampling).
    pub fn stretches(self) -> Box<dyn Iterator<Item = Stretch>> {
        let counted = |begin, end| Stretch { phase: Phase::Counted, begin, end };
        match self {
            Self::Whole => Box::new(std::iter::once(counted(0, u64::MAX))),
            Self::Count => Box::new(std::iter::empty()),
            Self::Window { skip, length } => {
                let end = length.map_or(u64::MAX, |length| skip.saturating_add(length));
                Box::new(Some(counted(skip, end)).filter(|stretch| stretch.begin < end).into_iter())
            }
            Self::Samples { count, length, warm_up, total } => {
                let part = move |index: u32| {
                    (u128::from(total) * u128::from(index) / u128::from(count)) as u64
                };
                let samples = (0..count).scan(0, move |recorded, index| {
                    let (from, to) = (part(index), part(index + 1));
                    let begin = from + (to - from).saturating_sub(length) / 2;
                    let end = begin.saturating_add(length).min(to);
                    let warm_up = begin.saturating_sub(warm_up).max(*recorded);
                    *recorded = end;
                    Some([
                        Stretch { phase: Phase::WarmUp, begin: warm_up, end: begin },
                        counted(begin, end),
                    ])
                });
                Box::new(samples.flatten().filter(|stretch| stretch.begin < stretch.end))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Phase::{Counted, WarmUp};

    fn stretches(plan: Plan) -> Vec<(Phase, u64, u64)> {
        plan.stretches().map(|stretch| (stretch.phase, stretch.begin, stretch.end)).collect()
    }

    #[test]
    fn samples_lie_in_the_middle_of_equal_parts_after_their_warm_up() {
        let plan = Plan::Samples { count: 2, length: 10, warm_up: 20, total: 100 };
        assert_eq!(
            stretches(plan),
            [(WarmUp, 0, 20), (Counted, 20, 30), (WarmUp, 50, 70), (Counted, 70, 80)]
        );
    }

    #[test]
    fn samples_longer_than_their_part_meet_without_overlap() {
        let plan = Plan::Samples { count: 2, length: 80, warm_up: 20, total: 100 };
        assert_eq!(stretches(plan), [(Counted, 0, 50), (Counted, 50, 100)]);
        let none = Plan::Samples { count: 0, length: 1, warm_up: 1, total: 1 };
        assert_eq!(stretches(none), []);
    }

    #[test]
    fn a_window_has_an_end_or_lasts_to_that_of_the_run() {
        assert_eq!(stretches(Plan::Window { skip: 5, length: Some(7) }), [(Counted, 5, 12)]);
        assert_eq!(stretches(Plan::Window { skip: 5, length: None }), [(Counted, 5, u64::MAX)]);
        assert_eq!(stretches(Plan::Window { skip: 5, length: Some(0) }), []);
    }
}
