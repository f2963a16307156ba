//! The lines of memory that a thread touched while nothing else of it was recorded: what caches hold when recording goes on.
//!
//! Such a list takes the place of all accesses of a gap (the memory timestamp record of Barr, Pan, Zhang and Asanović 2005):
//! each line once, in the order of the last accesses.

use std::fmt;

use rustc_hash::FxHashMap;

/// Bits of an offset in a line of 64 bytes.
const LINE_SHIFT: u32 = 6;
const IS_WRITTEN: u64 = 1;
const IS_CODE: u64 = 2;
/// Bits of a line beside its number.
const FLAGS: u32 = 2;

/// A line of 64 bytes, and what was done to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TouchedLine(u64);

impl TouchedLine {
    /// The line of this linear address.
    pub fn new(address: u64, is_written: bool, is_code: bool) -> Self {
        let kind = if is_code { IS_CODE } else { 0 };
        Self(address >> LINE_SHIFT << FLAGS | kind | u64::from(is_written))
    }

    /// The linear address of its first byte.
    pub fn address(self) -> u64 {
        self.0 >> FLAGS << LINE_SHIFT
    }

    /// Whether it was written.
    pub fn is_written(self) -> bool {
        self.0 & IS_WRITTEN != 0
    }

    /// Whether it was executed, not read or written.
    pub fn is_code(self) -> bool {
        self.0 & IS_CODE != 0
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits & !(0b1111 << (64 - LINE_SHIFT + FLAGS)))
    }

    fn key(self) -> u64 {
        self.0 & !IS_WRITTEN
    }
}

impl fmt::Debug for TouchedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match (self.is_code(), self.is_written()) {
            (true, _) => "executed",
            (false, true) => "written",
            (false, false) => "read",
        };
        write!(f, "{:#x} {kind}", self.address())
    }
}

/// What a thread touched up to a place of its run, since the list before or its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TouchedLines {
    /// Instructions of the thread before that place, recorded or not.
    pub position: u64,
    /// Each line once, the one whose last access is the oldest first.
    pub lines: Vec<TouchedLine>,
}

/// Lines of a list at most, the latest ones: 64 MiB, more than a last level holds for one core.
pub(crate) const MAX_LINES: usize = 1 << 20;
/// Lines that are looked for first, a power of two: 256 KiB, so that what a first level serves costs little.
const RECENT: usize = 1 << 12;
/// Entries of the log that may be superseded before it is shortened.
const SLACK: usize = 1 << 16;
/// No line: no address has so large a number.
const NONE: TouchedLine = TouchedLine(u64::MAX);

/// Learns from one access after another which lines a thread touched last.
///
/// The order of lines that were among the 4096 most recent ones is not exact: such a line counts as touched when another
/// one takes its place there, and those that are left at the end as touched when they came there.
pub(crate) struct LineHistory {
    recent: Box<[TouchedLine]>,
    /// How many others had come to `recent` before each of its lines.
    came: Box<[u64]>,
    count: u64,
    /// Lines in the order in which they left `recent`; of several entries of one line the last counts.
    log: Vec<TouchedLine>,
    /// Where in the log a line's last entry is.
    last: FxHashMap<u64, u32>,
}

impl LineHistory {
    pub(crate) fn new() -> Self {
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
    pub(crate) fn touch(&mut self, line: TouchedLine) {
        let place = (line.0 >> FLAGS) as usize % RECENT;
        let slot = &mut self.recent[place];
        if *slot == line {
            return;
        }
        if slot.key() == line.key() {
            slot.0 |= line.0;
        } else {
            let before = std::mem::replace(slot, line);
            self.came[place] = self.count;
            self.count += 1;
            self.note(before);
        }
    }

    /// A line is not among the most recent ones any more.
    #[inline(never)]
    fn note(&mut self, mut line: TouchedLine) {
        if line == NONE {
            return;
        }
        let at = self.log.len() as u32;
        if let Some(before) = self.last.insert(line.key(), at) {
            line.0 |= self.log[before as usize].0;
        }
        self.log.push(line);
        if self.log.len() > 2 * self.last.len() + SLACK {
            self.shorten();
        }
    }

    /// Leaves each line once in the log, and no more of them than a list has.
    fn shorten(&mut self) {
        let log = std::mem::take(&mut self.log);
        let surplus = self.last.len().saturating_sub(MAX_LINES);
        let last = (0..).zip(log).filter(|(at, line)| self.last.get(&line.key()) == Some(at));
        let (gone, kept): (Vec<_>, Vec<_>) = {
            let mut numbered = last.map(|(_, line)| line);
            (numbered.by_ref().take(surplus).collect(), numbered.collect())
        };
        for line in &gone {
            self.last.remove(&line.key());
        }
        for (at, line) in (0..).zip(&kept) {
            self.last.insert(line.key(), at);
        }
        self.log = kept;
    }

    /// The lines that were touched since the last time.
    pub(crate) fn take(&mut self) -> Vec<TouchedLine> {
        let mut places: Vec<usize> = (0..RECENT).collect();
        places.sort_unstable_by_key(|&place| self.came[place]);
        for place in places {
            let line = std::mem::replace(&mut self.recent[place], NONE);
            self.note(line);
        }
        self.shorten();
        self.last.clear();
        std::mem::take(&mut self.log)
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

    #[test]
    fn a_line_has_its_address_and_what_was_done_to_it() {
        let line = TouchedLine::new(0x7fff_1234_5678, true, false);
        assert_eq!(
            (line.address(), line.is_written(), line.is_code()),
            (0x7fff_1234_5640, true, false)
        );
        let line = TouchedLine::new(u64::MAX, false, true);
        assert_eq!((line.address(), line.is_written(), line.is_code()), (!63, false, true));
        assert_eq!(TouchedLine::from_bits(line.bits()), line);
        assert_ne!(TouchedLine::from_bits(u64::MAX), NONE);
    }

    #[test]
    fn the_latest_lines_come_last_and_stay_where_there_are_too_many() {
        let mut history = LineHistory::new();
        let all = MAX_LINES as u64 + 3 * RECENT as u64;
        for number in 0..all {
            history.touch(TouchedLine::new(number << LINE_SHIFT, false, false));
        }
        let lines = history.take();
        assert_eq!(lines.len(), MAX_LINES);
        let first = all - MAX_LINES as u64;
        assert!((0..).zip(&lines).all(|(at, line)| line.address() == (first + at) << LINE_SHIFT));
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
                history.touch(TouchedLine::new(number << LINE_SHIFT, is_written, false));
                *expected.entry(number << LINE_SHIFT).or_default() |= is_written;
            }
            let lines = history.take();
            let found: HashMap<u64, bool> =
                lines.iter().map(|line| (line.address(), line.is_written())).collect();
            prop_assert_eq!(lines.len(), found.len());
            prop_assert_eq!(found, expected);
        }
    }
}
