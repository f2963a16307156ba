//! Which part of what the client records belongs to which interval of a plan.
//!
//! The client records whole blocks and, with several threads, a little too much; here the ends are cut and
//! the phases reported.

use crate::{Phase, TracePlan};

/// Parts of the run that are recorded without a gap, in instructions of all threads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intervals {
    parts: Vec<Part>,
    looks_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    begin: u64,
    end: u64,
    /// Each with where it ends, counted from the part's begin.
    phases: Vec<(Use, u64)>,
}

/// Use of the client's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// They are recorded.
    Recorded(Phase),
    /// They say which lines are touched.
    LookBack,
}

impl From<TracePlan> for Intervals {
    fn from(plan: TracePlan) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        let look_back = plan.look_back();
        let mut recorded = 0;
        // The instructions before a warm-up, up to what is recorded before.
        let looking_back = crate::intervals(plan).flat_map(|interval| {
            let from = interval.begin.saturating_sub(look_back).max(recorded);
            recorded = interval.end;
            let before =
                PlannedInterval { is_for: Use::LookBack, begin: from, end: interval.begin };
            let own = PlannedInterval {
                is_for: Use::Recorded(interval.phase),
                begin: interval.begin,
                end: interval.end,
            };
            [before, own].into_iter().filter(|it| it.begin < it.end)
        });
        for interval in looking_back {
            match parts.last_mut().filter(|part| part.end == interval.begin) {
                Some(part) => {
                    part.end = interval.end;
                    part.phases.push((interval.is_for, interval.end - part.begin));
                }
                None => parts.push(Part {
                    begin: interval.begin,
                    end: interval.end,
                    phases: vec![(interval.is_for, interval.end - interval.begin)],
                }),
            }
        }
        Self { parts, looks_back: look_back > 0 }
    }
}

/// Instructions of the run that are recorded for one use.
struct PlannedInterval {
    is_for: Use,
    begin: u64,
    end: u64,
}

impl Intervals {
    /// As the client reads it, see `clients/dynamorio/schedule.h`.
    pub(crate) fn words(&self) -> Vec<u64> {
        let parts = self.parts.iter().flat_map(|part| [part.begin, part.end]);
        std::iter::once(self.parts.len() as u64).chain(parts).collect()
    }

    pub(crate) fn is_whole(&self) -> bool {
        let is_all =
            |part: &Part| part.begin == 0 && part.end == u64::MAX && part.phases.len() == 1;
        matches!(&self.parts[..], [part] if is_all(part))
    }

    /// Number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// True if the lines that are touched are wanted.
    pub(crate) fn look_back(&self) -> bool {
        self.looks_back
    }

    /// Use of an instruction that follows so many of its part, and before how many of the part's that ends, which no
    /// other interval of the part has; nothing after the part's end.
    pub(crate) fn at(&self, part: u64, done: u64) -> Option<(Use, u64)> {
        let phases = &self.parts.get(usize::try_from(part).ok()?)?.phases;
        phases.get(phases.partition_point(|&(_, end)| end <= done)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_and_its_sample_are_one_part() {
        let plan = TracePlan::Samples {
            count: 4,
            length: 30,
            warm_up: 10,
            total: 1000,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        let intervals = Intervals::from(plan);
        assert_eq!(intervals.words(), [4, 100, 140, 350, 390, 600, 640, 850, 890]);
        assert_eq!(intervals.at(3, 9), Some((Use::Recorded(Phase::WarmUp), 10)));
        assert_eq!(intervals.at(3, 10), Some((Use::Recorded(Phase::Counted), 40)));
        assert_eq!(intervals.at(3, 40), None);
        assert_eq!(intervals.at(4, 0), None);
    }

    #[test]
    fn what_lies_before_a_warm_up_says_which_lines_are_touched() {
        let plan = |look_back| {
            let (count, length, warm_up, total, seed) = (2, 30, 10, 1000, 0);
            Intervals::from(TracePlan::Samples {
                count,
                length,
                warm_up,
                total,
                seed,
                look_back,
                first_part: 0,
            })
        };
        let short = plan(100);
        assert_eq!(short.words(), [2, 125, 265, 625, 765]);
        assert_eq!(short.at(1, 99), Some((Use::LookBack, 100)));
        assert_eq!(short.at(1, 100), Some((Use::Recorded(Phase::WarmUp), 110)));
        // There is nothing between the parts any more.
        let long = plan(460);
        assert_eq!(long.words(), [1, 0, 765]);
        assert_eq!(long.at(0, 300), Some((Use::LookBack, 725)));
        assert!(long.look_back() && !plan(0).look_back());
    }

    #[test]
    fn samples_that_meet_are_distinguished() {
        let plan = TracePlan::Samples {
            count: 2,
            length: 50,
            warm_up: 10,
            total: 100,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        let intervals = Intervals::from(plan);
        assert_eq!(intervals.words(), [1, 0, 100]);
        assert_eq!(intervals.at(0, 49), Some((Use::Recorded(Phase::Counted), 50)));
        assert_eq!(intervals.at(0, 50), Some((Use::Recorded(Phase::Counted), 100)));
    }

    #[test]
    fn a_window_without_end_goes_on() {
        let intervals = Intervals::from(TracePlan::Window { skip: 7, length: None });
        assert_eq!(intervals.words(), [1, 7, u64::MAX]);
        assert!(matches!(intervals.at(0, 1 << 50), Some((Use::Recorded(Phase::Counted), _))));
        assert!(!intervals.is_whole());
        assert!(Intervals::from(TracePlan::Whole).is_whole());
        // All of it is recorded, for two purposes.
        let after = TracePlan::After { skip: 50, warm_up: 70, rest: Box::new(TracePlan::Whole) };
        assert!(!Intervals::from(after).is_whole());
    }
}
