//! Which lines a thread touched last, learned from one access after another while it is looked back on.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::TouchedLine;
use crate::touched::MAX_LINES;

/// Lines that are looked for first, a power of two: 256 KiB, so that what a first level serves costs little.
const RECENT: usize = 1 << 12;
/// Entries of the log that may be superseded before it is shortened.
const SLACK: usize = 1 << 16;
/// No line: none has these bits.
const NONE: u64 = u64::MAX;
/// Mask of a line's bits without the one of a write.
const KEY: u64 = !1;

/// Learns from one access after another which lines a thread touched last.
///
/// The order of lines that were among the 4096 most recent ones is not exact: such a line counts as touched when another
/// one takes its place there, and those that are left at the end as touched when they came there.
pub(super) struct LineHistory {
    /// The bits of lines, as in what follows.
    recent: Box<[u64]>,
    /// Number of others that had come to `recent` before each of its lines.
    came: Box<[u64]>,
    count: u64,
    /// Lines in the order in which they left `recent`; of several entries of one line the last counts.
    log: Vec<u64>,
    /// Place in the log of a line's last entry.
    last: FxHashMap<u64, u32>,
}

impl LineHistory {
    pub(super) fn new() -> Self {
        Self {
            recent: vec![NONE; RECENT].into(),
            came: vec![0; RECENT].into(),
            count: 0,
            log: Vec::new(),
            last: FxHashMap::default(),
        }
    }

    /// An access to a line.
    #[inline]
    pub(super) fn touch(&mut self, line: TouchedLine) {
        let line = line.bits();
        let place = (line >> 2) as usize % RECENT;
        let slot = &mut self.recent[place];
        if *slot == line {
            return;
        }
        if (*slot ^ line) & KEY == 0 {
            *slot |= line;
        } else {
            let before = std::mem::replace(slot, line);
            self.came[place] = self.count;
            self.count += 1;
            self.note(before);
        }
    }

    /// A line is not among the most recent ones any more.
    #[inline(never)]
    fn note(&mut self, mut line: u64) {
        if line == NONE {
            return;
        }
        let at = self.log.len() as u32;
        if let Some(before) = self.last.insert(line & KEY, at) {
            line |= self.log[before as usize];
        }
        self.log.push(line);
        let most = 2 * self.last.len().min(MAX_LINES) + SLACK;
        if self.log.len() > most {
            self.shorten();
        }
    }

    /// Leaves each line once in the log, and no more of them than a list has.
    fn shorten(&mut self) {
        let log = std::mem::take(&mut self.log);
        let surplus = self.last.len().saturating_sub(MAX_LINES);
        let is_last = |(at, line): &(u32, u64)| self.last.get(&(line & KEY)) == Some(at);
        let lines: Vec<u64> = (0..).zip(log).filter(is_last).map(|(_, line)| line).collect();
        let (gone, kept) = lines.split_at(surplus);
        for line in gone {
            self.last.remove(&(line & KEY));
        }
        for (at, line) in (0..).zip(kept) {
            self.last.insert(line & KEY, at);
        }
        self.log = kept.to_vec();
    }

    /// The lines that were touched since the last time.
    pub(super) fn take(&mut self) -> Vec<TouchedLine> {
        let mut places: Vec<usize> = (0..RECENT).collect();
        places.sort_unstable_by_key(|&place| self.came[place]);
        for place in places {
            let line = std::mem::replace(&mut self.recent[place], NONE);
            self.note(line);
        }
        self.shorten();
        self.last.clear();
        std::mem::take(&mut self.log).into_iter().map(TouchedLine::from_bits).collect()
    }
}

impl fmt::Debug for LineHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineHistory").field("lines", &self.last.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const LINE: u64 = 64;

    #[test]
    fn the_latest_lines_come_last_and_stay_where_there_are_too_many() {
        let mut history = LineHistory::new();
        let all = 5 * MAX_LINES as u64 + 3 * RECENT as u64;
        for number in 0..all {
            history.touch(TouchedLine::new(number * LINE, false, false));
        }
        assert!(history.log.capacity() <= 4 * (MAX_LINES + SLACK), "no more than is wanted");
        let lines = history.take();
        assert_eq!(lines.len(), MAX_LINES);
        let first = all - MAX_LINES as u64;
        assert!((0..).zip(&lines).all(|(at, line)| line.address() == (first + at) * LINE));
        assert_eq!(history.take(), []);
    }

    proptest! {
        #[test]
        fn each_line_is_there_once_and_is_written_if_it_was_once(
            accesses in prop::collection::vec((0_u64..40_000, any::<bool>()), 0..2000),
            tail in prop::collection::vec(0_u64..50, 0..50),
        ) {
            let mut history = LineHistory::new();
            let mut expected: HashMap<u64, bool> = HashMap::new();
            let tail = tail.into_iter().map(|number| (number, false));
            for (number, is_written) in accesses.into_iter().chain(tail) {
                history.touch(TouchedLine::new(number * LINE, is_written, false));
                *expected.entry(number * LINE).or_default() |= is_written;
            }
            let lines = history.take();
            let found: HashMap<u64, bool> =
                lines.iter().map(|line| (line.address(), line.is_written())).collect();
            prop_assert_eq!(lines.len(), found.len());
            prop_assert_eq!(found, expected);
        }
    }
}
