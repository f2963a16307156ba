//! Reach of a prefetcher: how far ahead of demand accesses it has fetched.

use std::ops::RangeInclusive;

/// Limit of the lines fetched each time. Intel's optimization manual names two lines a request for its streamer; what
/// an EPYC of Zen 4 has fetched after 3, 4, 5, ... accesses grows by as much.
const AT_ONCE: u32 = 2;

/// The cache that something is fetched into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    First,
    Second,
}

/// Steps ahead that have been fetched into the first level, and into the second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reach {
    first: u32,
    second: u32,
}

impl Reach {
    /// The demand accesses have come so many steps further.
    #[inline]
    pub(super) fn advance(&mut self, steps: u32) {
        self.first = self.first.saturating_sub(steps);
        self.second = self.second.saturating_sub(steps);
    }

    /// The steps that are to be fetched now, up to the `most` of each level. What the first level is given the second is
    /// not.
    pub(super) fn extend(&mut self, most: [u32; 2]) -> [RangeInclusive<u32>; 2] {
        let first = further(&mut self.first, most[0]);
        self.second = self.second.max(self.first);
        [first, further(&mut self.second, most[1])]
    }

    /// Neither this step nor those after it were fetched.
    pub(super) fn stop_before(&mut self, level: Level, step: u32) {
        let reached = match level {
            Level::First => &mut self.first,
            Level::Second => &mut self.second,
        };
        *reached = (*reached).min(step.saturating_sub(1));
    }
}

fn further(reached: &mut u32, most: u32) -> RangeInclusive<u32> {
    let begin = *reached + 1;
    *reached = (*reached).max(most.min(*reached + AT_ONCE));
    begin..=*reached
}

#[cfg(test)]
mod tests {
    use crate::memory::prefetch::reach::*;

    /// Lines fetched while demand accesses proceed step by step, as places.
    fn fetched(most: [u32; 2], steps: u32) -> [Vec<u32>; 2] {
        let mut reach = Reach::default();
        let mut fetched = [Vec::new(), Vec::new()];
        for place in 0..steps {
            reach.advance(1);
            for (all, now) in fetched.iter_mut().zip(reach.extend(most)) {
                all.extend(now.map(|step| place + step));
            }
        }
        fetched
    }

    #[test]
    fn each_place_is_fetched_once_into_each_level() {
        let [first, second] = fetched([8, 13], 100);
        assert_eq!(first, (1..=99 + 8).collect::<Vec<_>>());
        // The first places go into the first level at once.
        assert_eq!(second, (3..=99 + 13).collect::<Vec<_>>());
    }

    #[test]
    fn it_grows_by_a_step_each_time() {
        let mut reach = Reach::default();
        let ends = [0; 9].map(|_| {
            reach.advance(1);
            *reach.extend([8, 0])[0].end()
        });
        assert_eq!(ends, [2, 3, 4, 5, 6, 7, 8, 8, 8]);
    }

    #[test]
    fn what_was_refused_is_fetched_later() {
        let mut reach = Reach::default();
        let [first, second] = reach.extend([4, 0]);
        assert_eq!((first, second.count()), (1..=2, 0));
        reach.stop_before(Level::First, 2);
        assert_eq!(reach.extend([4, 0])[0], 2..=3);
    }
}
