//! Which part of a run is recorded.

use std::ops::Range;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::Phase;

/// What to record, counted in instructions of all threads together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// From start to end.
    #[default]
    Whole,
    /// One interval.
    Window {
        /// Left out before it.
        skip: u64,
        /// Its length; to the end of the run if there is none.
        length: Option<u64>,
    },
    /// Intervals spread over a run of a known length, one in each [part](Self::parts), each after a warm-up interval.
    Samples {
        /// How many intervals lie in equal parts of the run.
        count: u32,
        /// Instructions of a counted interval.
        length: u64,
        /// Instructions recorded before each to fill caches and predictors.
        warm_up: u64,
        /// Instructions of the whole run.
        total: u64,
        /// Where they lie in their parts: at random places that this number chooses, or in the middle if it is 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        seed: u64,
        /// Instructions before each warm-up, at most, of which only the [lines](crate::TouchedLines) that they touch are
        /// recorded.
        #[serde(default, skip_serializing_if = "is_zero")]
        look_back: u64,
        /// Instructions of the first part, from which on parts double until they are as long as the equal ones: a program
        /// begins with what it does once, and with cold caches. 0 if all parts are equal.
        #[serde(default, skip_serializing_if = "is_zero")]
        first_part: u64,
    },
    /// Intervals each of which stands for a part of the run, each after a warm-up interval.
    #[serde(alias = "stand_ins")]
    SimulationPoints {
        /// In the order of the run.
        windows: Vec<SimulationPoint>,
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
    #[serde(alias = "behind")]
    After {
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

/// A interval of a run that stands for others, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulationPoint {
    /// Its first instruction, counted over all threads.
    pub begin: u64,
    /// How many it stands for, its own included.
    pub instructions: u64,
    /// How many of them are not recorded.
    pub left_out: u64,
}

/// A part of a run that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// What it is for.
    pub phase: Phase,
    /// Its first instruction, counted over all threads.
    pub begin: u64,
    /// The first instruction after it.
    pub end: u64,
}

impl Plan {
    /// The intervals in their order; none is empty, none overlaps another.
    ///
    /// Samples lie in the middle of equal parts of the run (systematic sampling), or at random in each (stratified sampling).
    pub fn intervals(self) -> Box<dyn Iterator<Item = Interval>> {
        let counted = |begin, end| Interval { phase: Phase::Counted, begin, end };
        match self {
            Self::Whole | Self::Learn => Box::new(std::iter::once(counted(0, u64::MAX))),
            Self::Count => Box::new(std::iter::empty()),
            Self::Window { skip, length } => {
                let end = length.map_or(u64::MAX, |length| skip.saturating_add(length));
                Box::new(
                    Some(counted(skip, end)).filter(|interval| interval.begin < end).into_iter(),
                )
            }
            Self::Samples { length, warm_up, seed, .. } => {
                let mut chance = (seed != 0).then(|| ChaCha8Rng::seed_from_u64(seed));
                let samples = self.parts().into_iter().map(move |part| {
                    let room = (part.end - part.start).saturating_sub(length);
                    let begin = part.start
                        + chance.as_mut().map_or(room / 2, |it| it.random_range(0..=room));
                    begin..begin.saturating_add(length).min(part.end)
                });
                Box::new(after_warm_ups(samples, warm_up))
            }
            Self::SimulationPoints { windows, length, warm_up, total, .. } => {
                let windows = windows.into_iter();
                let range = move |window: SimulationPoint| {
                    window.begin..window.begin.saturating_add(length).min(total)
                };
                Box::new(after_warm_ups(windows.map(range), warm_up))
            }
            Self::After { skip, warm_up, rest } => {
                let begin = skip.saturating_sub(warm_up);
                let before = Interval { phase: Phase::WarmUp, begin, end: skip };
                let later = move |interval: Interval| Interval {
                    phase: interval.phase,
                    begin: interval.begin.saturating_add(skip),
                    end: interval.end.saturating_add(skip),
                };
                let both = std::iter::once(before).chain(rest.intervals().map(later));
                Box::new(both.filter(|interval| interval.begin < interval.end))
            }
        }
    }

    /// What is recorded of the part that counts, and how many instructions lie before that part.
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
        let doubled = std::iter::successors(Some(first_part), |end| end.checked_mul(2));
        let mut ends: Vec<u64> = doubled.take_while(|end| (1..equal).contains(end)).collect();
        let from = ends.last().copied().unwrap_or(0);
        let end_of = |index: u32| {
            let before = u128::from(total - from) * u128::from(index + 1) / u128::from(count);
            from + before as u64
        };
        ends.extend((0..count).map(end_of));
        let begins = std::iter::once(0).chain(ends.iter().copied());
        begins.zip(&ends).map(|(begin, end)| begin..*end).filter(|part| !part.is_empty()).collect()
    }

    /// How many intervals it has that each stand for more than themselves; none if it is of another kind.
    pub fn windows(&self) -> Option<u32> {
        match self.rest().0 {
            samples @ Self::Samples { .. } => Some(samples.parts().len() as u32),
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

    /// Instructions that are recorded, if that is settled before the run.
    pub fn recorded(&self) -> Option<u64> {
        let mut all = 0_u64;
        for Interval { begin, end, .. } in self.clone().intervals() {
            all += if end == u64::MAX { return None } else { end - begin };
        }
        Some(all)
    }

    /// The same with windows at other random places, which this number chooses; none if they do not lie at random places.
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

    /// Whether the run is one that the user does not see.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Count | Self::Learn)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Counted intervals in the order of the run, each after as long a warm-up as there is room for after the one before.
fn after_warm_ups(
    counted: impl Iterator<Item = Range<u64>>,
    length: u64,
) -> impl Iterator<Item = Interval> {
    let both = counted.scan(0, move |recorded, Range { start, end }| {
        let warm_up = start.saturating_sub(length).max(*recorded);
        *recorded = end;
        Some([
            Interval { phase: Phase::WarmUp, begin: warm_up, end: start },
            Interval { phase: Phase::Counted, begin: start, end },
        ])
    });
    both.flatten().filter(|interval| interval.begin < interval.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Phase::{Counted, WarmUp};

    fn intervals(plan: Plan) -> Vec<(Phase, u64, u64)> {
        plan.intervals().map(|interval| (interval.phase, interval.begin, interval.end)).collect()
    }

    #[test]
    fn samples_lie_in_the_middle_of_equal_parts_after_their_warm_up() {
        let plan = Plan::Samples {
            count: 2,
            length: 10,
            warm_up: 20,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(
            intervals(plan),
            [(WarmUp, 0, 20), (Counted, 20, 30), (WarmUp, 50, 70), (Counted, 70, 80)]
        );
    }

    #[test]
    fn parts_double_from_a_first_one_up_to_the_equal_ones() {
        let parts = |first_part, count, total| {
            let (length, warm_up, seed, look_back) = (10, 0, 0, 0);
            Plan::Samples { count, length, warm_up, total, seed, look_back, first_part }.parts()
        };
        assert_eq!(parts(10, 2, 100), [0..10, 10..20, 20..40, 40..70, 70..100]);
        assert_eq!(parts(10, 2, 20), [0..10, 10..20]);
        assert_eq!(parts(0, 2, 100), [0..50, 50..100]);
        assert_eq!(parts(1 << 63, 1, u64::MAX), [0..1 << 63, 1 << 63..u64::MAX]);
        assert_eq!(parts(10, 3, 2), [0..1, 1..2]);
        assert_eq!((parts(10, 0, 100), Plan::Whole.parts()), (vec![], vec![]));
    }

    #[test]
    fn a_seed_chooses_a_place_in_each_part() {
        let at = |seed| {
            let plan = Plan::Samples {
                count: 50,
                length: 10,
                warm_up: 0,
                total: 50_000,
                seed,
                look_back: 0,
                first_part: 0,
            };
            intervals(plan).into_iter().map(|(_, begin, _)| begin).collect::<Vec<_>>()
        };
        let (one, other) = (at(1), at(2));
        assert_eq!(one, at(1));
        assert_ne!(one, other);
        for begins in [one, other] {
            let parts: Vec<u64> = begins.iter().map(|begin| begin / 1000).collect();
            assert_eq!(parts, (0..50).collect::<Vec<_>>());
            let places: u64 = begins.iter().map(|begin| begin % 1000).sum();
            assert!((15_000..35_000).contains(&places), "{places}");
        }
    }

    #[test]
    fn windows_at_random_places_can_lie_at_others() {
        let plan = |seed| Plan::Samples {
            count: 5,
            length: 10,
            warm_up: 7,
            total: 500,
            seed,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(plan(1).with_seed(2), Some(plan(2)));
        let after = |seed| Plan::After { skip: 40, warm_up: 30, rest: Box::new(plan(seed)) };
        assert_eq!(after(1).with_seed(2), Some(after(2)));
        for fixed in [plan(0), after(0), Plan::Whole, Plan::Window { skip: 1, length: None }] {
            assert_eq!(fixed.with_seed(2), None, "{fixed:?}");
        }
    }

    #[test]
    fn samples_longer_than_their_part_meet_without_overlap() {
        let plan = Plan::Samples {
            count: 2,
            length: 80,
            warm_up: 20,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(intervals(plan), [(Counted, 0, 50), (Counted, 50, 100)]);
        let none = Plan::Samples {
            count: 0,
            length: 1,
            warm_up: 1,
            total: 1,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(intervals(none), []);
    }

    #[test]
    fn simulation_points_lie_where_they_were_chosen() {
        let windows = [(15, 60), (40, 30), (95, 10)].map(|(begin, instructions)| SimulationPoint {
            begin,
            instructions,
            left_out: 0,
        });
        let plan = Plan::SimulationPoints {
            windows: windows.to_vec(),
            length: 10,
            warm_up: 20,
            total: 100,
            look_back: 0,
        };
        let expected = [
            (WarmUp, 0, 15),
            (Counted, 15, 25),
            (WarmUp, 25, 40),
            (Counted, 40, 50),
            (WarmUp, 75, 95),
            (Counted, 95, 100),
        ];
        assert_eq!(intervals(plan), expected);
    }

    #[test]
    fn a_part_that_begins_later_is_counted_from_there() {
        let after = |warm_up, rest| {
            let plan = Plan::After { skip: 50, warm_up, rest: Box::new(rest) };
            assert_eq!(plan.rest().1, 50);
            intervals(plan)
        };
        assert_eq!(after(20, Plan::Whole), [(WarmUp, 30, 50), (Counted, 50, u64::MAX)]);
        assert_eq!(after(0, Plan::Whole), [(Counted, 50, u64::MAX)]);
        let rest = Plan::Samples {
            count: 1,
            length: 10,
            warm_up: 20,
            total: 40,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        let expected = [(WarmUp, 0, 50), (WarmUp, 50, 65), (Counted, 65, 75)];
        assert_eq!(after(70, rest), expected);
    }

    #[test]
    fn plans_of_old_traces_are_read() {
        let old = r#"{"behind":{"skip":50,"warm_up":20,"rest":{"stand_ins":
            {"windows":[],"length":10,"warm_up":5,"total":100}}}}"#;
        let rest = Plan::SimulationPoints {
            windows: Vec::new(),
            length: 10,
            warm_up: 5,
            total: 100,
            look_back: 0,
        };
        let plan = Plan::After { skip: 50, warm_up: 20, rest: Box::new(rest) };
        assert_eq!(serde_json::from_str::<Plan>(old).unwrap(), plan);
    }

    #[test]
    fn how_much_is_recorded_is_known_of_what_has_an_end() {
        let samples = Plan::Samples {
            count: 2,
            length: 10,
            warm_up: 20,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(samples.recorded(), Some(60));
        assert_eq!(Plan::Window { skip: 5, length: Some(7) }.recorded(), Some(7));
        assert_eq!(Plan::Whole.recorded(), None);
    }

    #[test]
    fn a_window_has_an_end_or_lasts_to_that_of_the_run() {
        assert_eq!(intervals(Plan::Window { skip: 5, length: Some(7) }), [(Counted, 5, 12)]);
        assert_eq!(intervals(Plan::Window { skip: 5, length: None }), [(Counted, 5, u64::MAX)]);
        assert_eq!(intervals(Plan::Window { skip: 5, length: Some(0) }), []);
    }
}
