//! Sections of a sampled run, which are simulated at the same time: each on a core of its own, whose caches and
//! predictors what lies directly before the section warms.

use std::ops::Range;

use corun_trace::Phase;

use super::intervals::Interval;

/// Recorded instructions of a section at least, so that warming costs at most a fifth more. It does not depend on the
/// machine: results are the same on any number of CPUs.
const SECTION: u64 = 20_000_000;
/// Recorded instructions that warm a section before its first window. A last level may need more to be filled, as it does at
/// the start of the run.
const WARM_UP: u64 = 4_000_000;

/// Windows that are simulated one after the other on one core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// Recorded instructions before the one at which its core begins, ...
    pub(super) begin: u64,
    /// ... and instructions of the thread before that one, recorded or not.
    pub(super) place: u64,
    /// Intervals of the section, by number; what lies before the first of them only warms.
    pub(super) intervals: Range<usize>,
}

impl Section {
    /// All intervals in one section.
    pub(super) fn whole(intervals: &[Interval]) -> Self {
        Self { begin: 0, place: 0, intervals: 0..intervals.len() }
    }

    /// The intervals in sections, each of which ends with a window.
    pub(super) fn all(intervals: &[Interval]) -> Vec<Self> {
        Self::of_length(intervals, SECTION, WARM_UP)
    }

    pub(super) fn of_length(intervals: &[Interval], length: u64, warm_up: u64) -> Vec<Self> {
        let recorded = intervals.last().map_or(0, |last| last.end);
        let count = (recorded / length).max(1);
        let mut sections = vec![];
        let mut first = 0;
        for (at, pair) in (1..).zip(intervals.windows(2)) {
            let begins_warm_up = (pair[0].phase, pair[1].phase) == (Phase::Counted, Phase::WarmUp);
            let part = sections.len() as u64 + 1;
            if begins_warm_up && part < count && pair[1].begin >= recorded / count * part {
                sections.push(Self::warmed(intervals, first..at, warm_up));
                first = at;
            }
        }
        sections.push(Self::warmed(intervals, first..intervals.len(), warm_up));
        sections
    }

    /// A section whose first window has so many instructions of warm-up at least, where so many were recorded.
    fn warmed(intervals: &[Interval], own: Range<usize>, warm_up: u64) -> Self {
        if own.start == 0 {
            return Self { intervals: own, ..Self::whole(intervals) };
        }
        let first = intervals[own.start];
        let missing = warm_up.saturating_sub(first.end - first.begin);
        let begin = first.begin.saturating_sub(missing);
        let holds = |it: &&Interval| (it.begin..it.end).contains(&begin);
        let place = intervals.iter().find(holds).map_or(0, |it| it.place + (begin - it.begin));
        Self { begin, place, intervals: own }
    }
}

#[cfg(test)]
mod tests {
    use Phase::{Counted, WarmUp};
    use proptest::prelude::*;

    use super::*;

    /// Warm-ups and windows of such lengths in turn, with gaps of so many instructions between.
    fn intervals(windows: usize, warm_up: u64, length: u64, gap: u64) -> Vec<Interval> {
        let (mut place, mut recorded) = (0, 0);
        let mut all = Vec::new();
        for _ in 0..windows {
            place += gap;
            for (phase, length) in [(WarmUp, warm_up), (Counted, length)] {
                let end = recorded + length;
                all.push(Interval { phase, place, begin: recorded, end, weight: None });
                (place, recorded) = (place + length, end);
            }
        }
        all
    }

    #[test]
    fn sections_are_equally_long_and_begin_with_a_warm_up() {
        let all = intervals(60, 700, 100, 10_000);
        let sections = Section::of_length(&all, 10_000, 2000);
        let own: Vec<_> = sections.iter().map(|it| it.intervals.clone()).collect();
        assert_eq!(own, [0..30, 30..60, 60..90, 90..120]);
        // 1300 recorded instructions before the first interval, with two gaps between: the last window, its warm-up, the
        // window before, and the end of its warm-up.
        let second = &sections[1];
        assert_eq!((second.begin, second.place), (12_000 - 1300, all[30].place - 1300 - 20_000));
        assert_eq!((sections[0].begin, sections[0].place), (0, 0));
    }

    #[test]
    fn long_warm_ups_need_no_other() {
        let all = intervals(3, 5000, 100, 10_000);
        let sections = Section::of_length(&all, 1000, 2000);
        let begins: Vec<_> = sections.iter().map(|it| (it.begin, it.place)).collect();
        assert_eq!(begins, [(0, 0), (5100, all[2].place), (10_200, all[4].place)]);
    }

    #[test]
    fn a_run_without_warm_ups_is_one_section() {
        let whole = Interval { phase: Counted, place: 0, begin: 0, end: 1 << 40, weight: None };
        assert_eq!(Section::all(&[whole]), [Section::whole(&[whole])]);
        assert_eq!(Section::all(&[]), [Section::whole(&[])]);
    }

    proptest! {
        #[test]
        fn sections_hold_every_interval_once(
            windows in 0_usize..50,
            warm_up in 1_u64..1000,
            length in 1_u64..1000,
            of_section in 1_u64..20_000,
            warmed in 0_u64..3000,
        ) {
            let all = intervals(windows, warm_up, length, 77);
            let sections = Section::of_length(&all, of_section, warmed);
            let own: Vec<usize> = sections.iter().flat_map(|it| it.intervals.clone()).collect();
            prop_assert_eq!(own, (0..all.len()).collect::<Vec<_>>());
            for section in &sections[1..] {
                let first = all[section.intervals.start];
                prop_assert!(section.begin <= first.begin && section.place <= first.place);
                prop_assert!(all[section.intervals.start + 1].begin - section.begin >= warmed
                    || section.begin == 0);
            }
        }
    }
}
