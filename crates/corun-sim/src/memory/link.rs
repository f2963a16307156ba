//! Link that transfers one line after another: a request goes in the first gap that is long enough for it.
//!
//! Requests do not come in the order in which they go: a line that is evicted leaves when the one in its place comes,
//! hundreds of cycles after that was asked for, and whatever is asked for meanwhile goes before it.

use std::collections::VecDeque;

/// Parts of a cycle that a link is counted in, so that rates need not be whole cycles.
const PARTS: f64 = 256.0;
/// Times that are remembered as taken; the oldest lie before all that is still asked for.
const REMEMBERED: usize = 64;

/// A way that a line takes for some cycles.
#[derive(Debug)]
pub(super) struct Link {
    interval: u64,
    /// When it is taken: begin and end, in order, with gaps between them in which a line has room.
    taken: VecDeque<(u64, u64)>,
}

impl Link {
    /// One that takes a line each so many cycles.
    pub(super) fn new(interval: f64) -> Self {
        let interval = (interval * PARTS) as u64;
        Self { interval, taken: VecDeque::with_capacity(REMEMBERED + 1) }
    }

    /// When a line that wants to go at `now` goes.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> u64 {
        if self.interval == 0 {
            return now;
        }
        let now = now * PARTS as u64;
        let start = match self.taken.back() {
            Some(&(_, end)) if now < end => self.first_gap(now),
            _ => {
                self.taken.push_back((now, now + self.interval));
                now
            }
        };
        if self.taken.len() > REMEMBERED {
            self.taken.pop_front();
        }
        start / PARTS as u64
    }

    /// Takes the first gap from `now` on.
    fn first_gap(&mut self, now: u64) -> u64 {
        let interval = self.interval;
        let mut next = self.taken.len();
        while next > 0 && self.taken[next - 1].1 > now {
            next -= 1;
        }
        let mut start = now;
        while let Some(&(begin, end)) = self.taken.get(next).filter(|it| it.0 < start + interval) {
            debug_assert!(begin < end);
            start = end;
            next += 1;
        }
        let end = start + interval;
        // What lies too near for a line in between becomes one.
        let is_behind = next > 0 && self.taken[next - 1].1 + interval > start;
        let is_before = self.taken.get(next).is_some_and(|it| end + interval > it.0);
        match (is_behind, is_before) {
            (true, true) => {
                self.taken[next - 1].1 = self.taken[next].1;
                self.taken.remove(next);
            }
            (true, false) => self.taken[next - 1].1 = end,
            (false, true) => self.taken[next].0 = start,
            (false, false) => self.taken.insert(next, (start, end)),
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::memory::link::*;

    #[test]
    fn lines_go_one_after_another() {
        let mut link = Link::new(2.5);
        let gone: Vec<u64> = (0..5).map(|_| link.take(10)).collect();
        assert_eq!(gone, [10, 12, 15, 17, 20]);
        assert_eq!(link.take(100), 100);
    }

    #[test]
    fn a_line_that_goes_later_is_in_nobodys_way() {
        let mut link = Link::new(4.0);
        assert_eq!([link.take(500), link.take(10), link.take(10)], [500, 10, 14]);
        // The gap before it is too short.
        assert_eq!([link.take(497), link.take(490), link.take(480)], [504, 490, 480]);
        assert_eq!(link.take(500), 508);
    }

    #[test]
    fn what_takes_no_time_waits_for_nothing() {
        let mut link = Link::new(0.0);
        assert_eq!([link.take(7), link.take(7), link.take(3)], [7, 7, 3]);
    }

    proptest! {
        #[test]
        fn no_two_lines_go_at_once(wanted in prop::collection::vec(0u64..200, 1..60)) {
            let mut link = Link::new(3.0);
            let mut gone = Vec::new();
            for now in wanted {
                let at = link.take(now);
                prop_assert!(at >= now);
                prop_assert!(gone.iter().all(|other| at.abs_diff(*other) >= 3), "{} {:?}", at, gone);
                gone.push(at);
            }
        }
    }
}
