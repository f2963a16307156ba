//! Which part of a run is recorded: what a trace says of itself, and what a tracer is told.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Plan of a recording, counted in instructions of all threads together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TracePlan {
    /// From start to end.
    #[default]
    Whole,
    /// One interval.
    Window {
        /// Left out before it.
        skip: u64,
        /// Length; to the end of the run if there is none.
        length: Option<u64>,
    },
    /// Intervals spread over a run of a known length, one in each part, each after a warm-up interval.
    Samples {
        /// Number of intervals, each in one of as many equal parts of the run.
        count: u32,
        /// Instructions of a counted interval.
        length: u64,
        /// Instructions recorded before each to fill caches and predictors.
        warm_up: u64,
        /// Instructions of the whole run.
        total: u64,
        /// Seed of the places in their parts; 0 for the middle of each.
        #[serde(default, skip_serializing_if = "is_zero")]
        seed: u64,
        /// Instructions before each warm-up, at most, of which only the lines that they touch are
        /// recorded.
        #[serde(default, skip_serializing_if = "is_zero")]
        look_back: u64,
        /// Instructions of the first part, from which on parts double until they are as long as the equal ones: a program
        /// begins with what it does once, and with cold caches. 0 if all parts are equal.
        #[serde(default, skip_serializing_if = "is_zero")]
        first_part: u64,
    },
    /// Intervals each of which stands for a part of the run, each after a warm-up interval.
    SimulationPoints {
        /// In the order of the run.
        windows: Vec<TracedPoint>,
        /// Instructions of a counted interval.
        length: u64,
        /// Instructions recorded before each, at most, to fill caches and predictors.
        warm_up: u64,
        /// Instructions of the whole run.
        total: u64,
        /// As that of samples.
        #[serde(default, skip_serializing_if = "is_zero")]
        look_back: u64,
    },
    /// A part of the run that begins later, its instructions counted from there.
    After {
        /// Instructions before it.
        skip: u64,
        /// Number of the last of them, recorded to fill caches and predictors.
        warm_up: u64,
        /// Plan of the part that counts.
        rest: Box<TracePlan>,
    },
    /// Nothing: the instructions of the whole run are counted, and its output is thrown away.
    Count,
    /// From start to end, to learn what to record: its output is thrown away.
    Learn,
}

/// An interval of a run that stands for others, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedPoint {
    /// First instruction, counted over all threads.
    pub begin: u64,
    /// Number of instructions it represents, its own included.
    pub instructions: u64,
    /// Number of them that are not recorded.
    pub left_out: u64,
}

impl TracePlan {
    /// Plan of the part that counts, and the number of instructions before that part.
    pub fn rest(&self) -> (&Self, u64) {
        match self {
            Self::After { skip, rest, .. } => (rest, *skip),
            all => (all, 0),
        }
    }

    /// The parts of a run in each of which one sample lies, none of them empty; none if it is of another kind.
    pub fn parts(&self) -> Vec<Range<u64>> {
        let Self::Samples { count, total, first_part, .. } = *self else { return Vec::new() };
        let Some(equal) = total.checked_div(count.into()) else { return Vec::new() };
        let mut ends: Vec<u64> = doubled(first_part, equal).collect();
        let from = ends.last().copied().unwrap_or(0);
        let end_of = |index: u32| {
            let before = u128::from(total - from) * u128::from(index + 1) / u128::from(count);
            from + before as u64
        };
        ends.extend((0..count).map(end_of));
        let begins = std::iter::once(0).chain(ends.iter().copied());
        begins.zip(&ends).map(|(begin, end)| begin..*end).filter(|part| !part.is_empty()).collect()
    }

    /// Number of intervals that each represent more than themselves; none if it is of another kind.
    pub fn windows(&self) -> Option<u32> {
        match self.rest().0 {
            Self::Samples { count, total, first_part, .. } => {
                let Some(equal) = total.checked_div((*count).into()) else { return Some(0) };
                let (last, doubled) =
                    doubled(*first_part, equal).fold((0, 0), |(_, count), end| (end, count + 1));
                Some(doubled + (total - last).min((*count).into()) as u32)
            }
            Self::SimulationPoints { windows, .. } => Some(windows.len() as u32),
            _ => None,
        }
    }

    /// Instructions before each warm-up, at most, of which only the lines that they touch are recorded.
    pub fn look_back(&self) -> u64 {
        match *self.rest().0 {
            Self::Samples { look_back, .. } | Self::SimulationPoints { look_back, .. } => look_back,
            _ => 0,
        }
    }

    /// The plan with windows at other random places, which this number chooses; none if they do not lie at random
    /// places.
    pub fn with_seed(&self, seed: u64) -> Option<Self> {
        match *self {
            Self::Samples {
                count,
                length,
                warm_up,
                total,
                seed: before,
                look_back,
                first_part,
            } if before != 0 => {
                Some(Self::Samples { count, length, warm_up, total, seed, look_back, first_part })
            }
            Self::After { skip, warm_up, ref rest } => {
                let rest = Box::new(rest.with_seed(seed)?);
                Some(Self::After { skip, warm_up, rest })
            }
            _ => None,
        }
    }

    /// True if the run is one that the user does not see.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Count | Self::Learn)
    }
}

/// The ends of the first parts, each twice as far as the one before, as long as they are shorter than the equal ones.
fn doubled(first: u64, equal: u64) -> impl Iterator<Item = u64> {
    let ends = std::iter::successors(Some(first), |end| end.checked_mul(2));
    ends.take_while(move |end| (1..equal).contains(end))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_double_from_a_first_one_up_to_the_equal_ones() {
        let parts = |first_part, count, total| {
            let (length, warm_up, seed, look_back) = (10, 0, 0, 0);
            let plan =
                TracePlan::Samples { count, length, warm_up, total, seed, look_back, first_part };
            assert_eq!(plan.windows(), Some(plan.parts().len() as u32));
            plan.parts()
        };
        assert_eq!(parts(10, 2, 100), [0..10, 10..20, 20..40, 40..70, 70..100]);
        assert_eq!(parts(10, 2, 20), [0..10, 10..20]);
        assert_eq!(parts(0, 2, 100), [0..50, 50..100]);
        assert_eq!(parts(1 << 63, 1, u64::MAX), [0..1 << 63, 1 << 63..u64::MAX]);
        assert_eq!(parts(10, 3, 2), [0..1, 1..2]);
        assert_eq!((parts(10, 0, 100), TracePlan::Whole.parts()), (vec![], vec![]));
    }
}
