//! Which part of a run is recorded.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Phase;

/// What to record, counted in instructions of all threads together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Stretches each of which stands for a part of the run, each after a warm-up stretch.
    StandIns {
        /// In the order of the run.
        windows: Vec<StandIn>,
        /// Instructions of a counted stretch.
        length: u64,
        /// Instructions recorded before each, at most, to fill caches and predictors.
        warm_up: u64,
        /// Instructions of the whole run.
        total: u64,
    },
    /// A part of the run that begins later, its instructions counted from there.
    Behind {
        /// Instructions before it.
        skip: u64,
        /// How many of the last of them are recorded to fill caches and predictors.
        warm_up: u64,
        /// What is recorded of the part.
        rest: Box<Plan>,
    },
    /// Nothing: the instructions of the whole run are counted, and its output is thrown away.
    Count,
    /// From start to end, to learn what to record: its output is thrown away.
    Learn,
}

/// A stretch of a run that stands for others, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandIn {
    /// Its first instruction, counted over all threads.
    pub begin: u64,
    /// How many it stands for, its own included.
    pub instructions: u64,
    /// How many of them are not recorded.
    pub left_out: u64,
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
            Self::Whole | Self::Learn => Box::new(std::iter::once(counted(0, u64::MAX))),
            Self::Count => Box::new(std::iter::empty()),
            Self::Window { skip, length } => {
                let end = length.map_or(u64::MAX, |length| skip.saturating_add(length));
                Box::new(Some(counted(skip, end)).filter(|stretch| stretch.begin < end).into_iter())
            }
            Self::Samples { count, length, warm_up, total } => {
                let part = move |index: u32| {
                    (u128::from(total) * u128::from(index) / u128::from(count)) as u64
                };
                let samples = (0..count).map(move |index| {
                    let (from, to) = (part(index), part(index + 1));
                    let begin = from + (to - from).saturating_sub(length) / 2;
                    begin..begin.saturating_add(length).min(to)
                });
                Box::new(behind_warm_ups(samples, warm_up))
            }
            Self::StandIns { windows, length, warm_up, total } => {
                let windows = windows.into_iter();
                let range = move |window: StandIn| {
                    window.begin..window.begin.saturating_add(length).min(total)
                };
                Box::new(behind_warm_ups(windows.map(range), warm_up))
            }
            Self::Behind { skip, warm_up, rest } => {
                let begin = skip.saturating_sub(warm_up);
                let before = Stretch { phase: Phase::WarmUp, begin, end: skip };
                let later = move |stretch: Stretch| Stretch {
                    phase: stretch.phase,
                    begin: stretch.begin.saturating_add(skip),
                    end: stretch.end.saturating_add(skip),
                };
                let both = std::iter::once(before).chain(rest.stretches().map(later));
                Box::new(both.filter(|stretch| stretch.begin < stretch.end))
            }
        }
    }

    /// What is recorded of the part that counts, and how many instructions lie before that part.
    pub fn rest(&self) -> (&Self, u64) {
        match self {
            Self::Behind { skip, rest, .. } => (rest, *skip),
            all => (all, 0),
        }
    }

    /// How many stretches it has that each stand for more than themselves; none if it is of another kind.
    pub fn windows(&self) -> Option<u32> {
        match self.rest().0 {
            Self::Samples { count, .. } => Some(*count),
            Self::StandIns { windows, .. } => Some(windows.len() as u32),
            _ => None,
        }
    }

    /// Whether the run is one that the user does not see.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Count | Self::Learn)
    }
}

/// Counted stretches in the order of the run, each after as long a warm-up as there is room for behind the one before.
fn behind_warm_ups(
    counted: impl Iterator<Item = Range<u64>>,
    length: u64,
) -> impl Iterator<Item = Stretch> {
    let both = counted.scan(0, move |recorded, Range { start, end }| {
        let warm_up = start.saturating_sub(length).max(*recorded);
        *recorded = end;
        Some([
            Stretch { phase: Phase::WarmUp, begin: warm_up, end: start },
            Stretch { phase: Phase::Counted, begin: start, end },
        ])
    });
    both.flatten().filter(|stretch| stretch.begin < stretch.end)
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
    fn stand_ins_lie_where_they_were_chosen() {
        let windows = [(15, 60), (40, 30), (95, 10)].map(|(begin, instructions)| StandIn {
            begin,
            instructions,
            left_out: 0,
        });
        let plan =
            Plan::StandIns { windows: windows.to_vec(), length: 10, warm_up: 20, total: 100 };
        let expected = [
            (WarmUp, 0, 15),
            (Counted, 15, 25),
            (WarmUp, 25, 40),
            (Counted, 40, 50),
            (WarmUp, 75, 95),
            (Counted, 95, 100),
        ];
        assert_eq!(stretches(plan), expected);
    }

    #[test]
    fn a_part_that_begins_later_is_counted_from_there() {
        let behind = |warm_up, rest| {
            let plan = Plan::Behind { skip: 50, warm_up, rest: Box::new(rest) };
            assert_eq!(plan.rest().1, 50);
            stretches(plan)
        };
        assert_eq!(behind(20, Plan::Whole), [(WarmUp, 30, 50), (Counted, 50, u64::MAX)]);
        assert_eq!(behind(0, Plan::Whole), [(Counted, 50, u64::MAX)]);
        let rest = Plan::Samples { count: 1, length: 10, warm_up: 20, total: 40 };
        let expected = [(WarmUp, 0, 50), (WarmUp, 50, 65), (Counted, 65, 75)];
        assert_eq!(behind(70, rest), expected);
    }

    #[test]
    fn a_window_has_an_end_or_lasts_to_that_of_the_run() {
        assert_eq!(stretches(Plan::Window { skip: 5, length: Some(7) }), [(Counted, 5, 12)]);
        assert_eq!(stretches(Plan::Window { skip: 5, length: None }), [(Counted, 5, u64::MAX)]);
        assert_eq!(stretches(Plan::Window { skip: 5, length: Some(0) }), []);
    }
}
