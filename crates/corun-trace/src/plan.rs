//! Which part of a run is recorded.

use std::ops::Range;

use corun_record::{TracePlan, TracedPoint};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::Phase;

/// A part of a run that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Phase of the interval.
    pub phase: Phase,
    /// First instruction, counted over all threads.
    pub begin: u64,
    /// The first instruction after it.
    pub end: u64,
}

/// The intervals of a plan in their order; none is empty, none overlaps another.
///
/// Samples lie in the middle of equal parts of the run (systematic sampling), or at random in each (stratified sampling).
pub fn intervals(plan: TracePlan) -> Box<dyn Iterator<Item = Interval>> {
    let counted = |begin, end| Interval { phase: Phase::Counted, begin, end };
    match plan {
        TracePlan::Whole | TracePlan::Learn => Box::new(std::iter::once(counted(0, u64::MAX))),
        TracePlan::Count => Box::new(std::iter::empty()),
        TracePlan::Window { skip, length } => {
            let end = length.map_or(u64::MAX, |length| skip.saturating_add(length));
            Box::new(Some(counted(skip, end)).filter(|interval| interval.begin < end).into_iter())
        }
        TracePlan::Samples { length, warm_up, seed, .. } => {
            let mut chance = (seed != 0).then(|| ChaCha8Rng::seed_from_u64(seed));
            let samples = plan.parts().into_iter().map(move |part| {
                let room = (part.end - part.start).saturating_sub(length);
                let begin =
                    part.start + chance.as_mut().map_or(room / 2, |it| it.random_range(0..=room));
                begin..begin.saturating_add(length).min(part.end)
            });
            Box::new(after_warm_ups(samples, warm_up))
        }
        TracePlan::SimulationPoints { windows, length, warm_up, total, .. } => {
            let windows = windows.into_iter();
            let range = move |window: TracedPoint| {
                window.begin..window.begin.saturating_add(length).min(total)
            };
            Box::new(after_warm_ups(windows.map(range), warm_up))
        }
        TracePlan::After { skip, warm_up, rest } => {
            let begin = skip.saturating_sub(warm_up);
            let before = Interval { phase: Phase::WarmUp, begin, end: skip };
            let later = move |interval: Interval| Interval {
                phase: interval.phase,
                begin: interval.begin.saturating_add(skip),
                end: interval.end.saturating_add(skip),
            };
            let both = std::iter::once(before).chain(intervals(*rest).map(later));
            Box::new(both.filter(|interval| interval.begin < interval.end))
        }
    }
}

/// Instructions that are recorded, if that is settled before the run.
pub fn recorded(plan: &TracePlan) -> Option<u64> {
    let mut all = 0_u64;
    for Interval { begin, end, .. } in intervals(plan.clone()) {
        all += if end == u64::MAX { return None } else { end - begin };
    }
    Some(all)
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

    fn list(plan: TracePlan) -> Vec<(Phase, u64, u64)> {
        intervals(plan).map(|interval| (interval.phase, interval.begin, interval.end)).collect()
    }

    #[test]
    fn samples_lie_in_the_middle_of_equal_parts_after_their_warm_up() {
        let plan = TracePlan::Samples {
            count: 2,
            length: 10,
            warm_up: 20,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(
            list(plan),
            [(WarmUp, 0, 20), (Counted, 20, 30), (WarmUp, 50, 70), (Counted, 70, 80)]
        );
    }

    #[test]
    fn a_seed_chooses_a_place_in_each_part() {
        let at = |seed| {
            let plan = TracePlan::Samples {
                count: 50,
                length: 10,
                warm_up: 0,
                total: 50_000,
                seed,
                look_back: 0,
                first_part: 0,
            };
            list(plan).into_iter().map(|(_, begin, _)| begin).collect::<Vec<_>>()
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
        let plan = |seed| TracePlan::Samples {
            count: 5,
            length: 10,
            warm_up: 7,
            total: 500,
            seed,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(plan(1).with_seed(2), Some(plan(2)));
        let after = |seed| TracePlan::After { skip: 40, warm_up: 30, rest: Box::new(plan(seed)) };
        assert_eq!(after(1).with_seed(2), Some(after(2)));
        for fixed in
            [plan(0), after(0), TracePlan::Whole, TracePlan::Window { skip: 1, length: None }]
        {
            assert_eq!(fixed.with_seed(2), None, "{fixed:?}");
        }
    }

    #[test]
    fn samples_longer_than_their_part_meet_without_overlap() {
        let plan = TracePlan::Samples {
            count: 2,
            length: 80,
            warm_up: 20,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(list(plan), [(Counted, 0, 50), (Counted, 50, 100)]);
        let none = TracePlan::Samples {
            count: 0,
            length: 1,
            warm_up: 1,
            total: 1,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(list(none), []);
    }

    #[test]
    fn simulation_points_lie_where_they_were_chosen() {
        let windows = [(15, 60), (40, 30), (95, 10)].map(|(begin, instructions)| TracedPoint {
            begin,
            instructions,
            left_out: 0,
        });
        let plan = TracePlan::SimulationPoints {
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
        assert_eq!(list(plan), expected);
    }

    #[test]
    fn a_part_that_begins_later_is_counted_from_there() {
        let after = |warm_up, rest| {
            let plan = TracePlan::After { skip: 50, warm_up, rest: Box::new(rest) };
            assert_eq!(plan.rest().1, 50);
            list(plan)
        };
        assert_eq!(after(20, TracePlan::Whole), [(WarmUp, 30, 50), (Counted, 50, u64::MAX)]);
        assert_eq!(after(0, TracePlan::Whole), [(Counted, 50, u64::MAX)]);
        let rest = TracePlan::Samples {
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
    fn how_much_is_recorded_is_known_of_what_has_an_end() {
        let samples = TracePlan::Samples {
            count: 2,
            length: 10,
            warm_up: 20,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(recorded(&samples), Some(60));
        assert_eq!(recorded(&TracePlan::Window { skip: 5, length: Some(7) }), Some(7));
        assert_eq!(recorded(&TracePlan::Whole), None);
    }

    #[test]
    fn a_window_has_an_end_or_lasts_to_that_of_the_run() {
        assert_eq!(list(TracePlan::Window { skip: 5, length: Some(7) }), [(Counted, 5, 12)]);
        assert_eq!(list(TracePlan::Window { skip: 5, length: None }), [(Counted, 5, u64::MAX)]);
        assert_eq!(list(TracePlan::Window { skip: 5, length: Some(0) }), []);
    }
}
