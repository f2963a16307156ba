//! Which part of what the client records belongs to which interval of a plan.
//!
//! The client records whole blocks and, with several threads, a little too much; here the ends are cut and
//! the phases reported.

use crate::{Phase, Plan};

/// Instructions of a gap that cost about as much with what stores entries as translating a program again.
const LONG_GAP: u64 = 100_000_000;

/// Parts of the run that are recorded without a gap, in instructions of all threads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intervals {
    parts: Vec<Part>,
    /// Whether code stores entries in gaps as well, which are dropped: a large program's code takes seconds to
    /// translate, which would be done at both ends of every part.
    keeps_code: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    begin: u64,
    end: u64,
    /// Each with where it ends, counted from the part's begin.
    phases: Vec<(Phase, u64)>,
}

impl From<Plan> for Intervals {
    fn from(plan: Plan) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for interval in plan.intervals() {
            match parts.last_mut().filter(|part| part.end == interval.begin) {
                Some(part) => {
                    part.end = interval.end;
                    part.phases.push((interval.phase, interval.end - part.begin));
                }
                None => parts.push(Part {
                    begin: interval.begin,
                    end: interval.end,
                    phases: vec![(interval.phase, interval.end - interval.begin)],
                }),
            }
        }
        let gaps = parts.windows(2).map(|pair| pair[1].begin - pair[0].end);
        let keeps_code = parts.len() > 1 && gaps.max().unwrap_or(0) <= LONG_GAP;
        Self { parts, keeps_code }
    }
}

impl Intervals {
    /// As the client reads it, see `clients/dynamorio/schedule.h`.
    pub(crate) fn words(&self) -> Vec<u64> {
        let head = [u64::from(self.keeps_code), self.parts.len() as u64].into_iter();
        head.chain(self.parts.iter().flat_map(|part| [part.begin, part.end])).collect()
    }

    pub(crate) fn is_whole(&self) -> bool {
        let is_all =
            |part: &Part| part.begin == 0 && part.end == u64::MAX && part.phases.len() == 1;
        matches!(&self.parts[..], [part] if is_all(part))
    }

    /// What an instruction is for that follows so many of its part, and before how many of the part's that ends, which
    /// no other interval of the part has; nothing after the part's end.
    pub(crate) fn phase(&self, part: u64, recorded: u64) -> Option<(Phase, u64)> {
        let phases = &self.parts.get(usize::try_from(part).ok()?)?.phases;
        phases.get(phases.partition_point(|&(_, end)| end <= recorded)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_and_its_sample_are_one_part() {
        let plan = Plan::Samples { count: 4, length: 30, warm_up: 10, total: 1000, seed: 0 };
        let intervals = Intervals::from(plan);
        assert_eq!(intervals.words(), [1, 4, 100, 140, 350, 390, 600, 640, 850, 890]);
        assert_eq!(intervals.phase(3, 9), Some((Phase::WarmUp, 10)));
        assert_eq!(intervals.phase(3, 10), Some((Phase::Counted, 40)));
        assert_eq!(intervals.phase(3, 40), None);
        assert_eq!(intervals.phase(4, 0), None);
    }

    #[test]
    fn samples_that_meet_are_distinguished() {
        let plan = Plan::Samples { count: 2, length: 50, warm_up: 10, total: 100, seed: 0 };
        let intervals = Intervals::from(plan);
        assert_eq!(intervals.words(), [0, 1, 0, 100]);
        assert_eq!(intervals.phase(0, 49), Some((Phase::Counted, 50)));
        assert_eq!(intervals.phase(0, 50), Some((Phase::Counted, 100)));
    }

    #[test]
    fn code_stays_as_it_is_where_gaps_are_short() {
        let keeps_code = |total| {
            let plan = Plan::Samples { count: 10, length: 1000, warm_up: 9000, total, seed: 0 };
            Intervals::from(plan).words()[0] == 1
        };
        assert!(keeps_code(10 * LONG_GAP) && !keeps_code(10 * LONG_GAP + 200_000));
        assert!(!keeps_code(10_000), "one part without a gap");
    }

    #[test]
    fn a_window_without_end_goes_on() {
        let intervals = Intervals::from(Plan::Window { skip: 7, length: None });
        assert_eq!(intervals.words(), [0, 1, 7, u64::MAX]);
        assert!(matches!(intervals.phase(0, 1 << 50), Some((Phase::Counted, _))));
        assert!(!intervals.is_whole());
        assert!(Intervals::from(Plan::Whole).is_whole());
        // All of it is recorded, for two purposes.
        let after = Plan::After { skip: 50, warm_up: 70, rest: Box::new(Plan::Whole) };
        assert!(!Intervals::from(after).is_whole());
    }
}
