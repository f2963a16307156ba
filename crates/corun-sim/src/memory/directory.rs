//! Which cores may hold which lines, so that only those are asked.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use crate::memory::line::Line;

/// The most cores that share memory.
pub(super) const MAX_CORES: usize = 64;

/// The cores that may hold each line.
#[derive(Debug)]
pub(super) struct Directory {
    holders: HashMap<Line, u64, BuildHasherDefault<LineHasher>>,
    /// Lines that came from another core the last time.
    contended: HashSet<Line, BuildHasherDefault<LineHasher>>,
    /// For each core the lines that others took from it, and when.
    taken: Vec<Vec<(Line, u64)>>,
}

impl Directory {
    /// For at most [`MAX_CORES`] cores.
    pub(super) fn new(cores: usize) -> Self {
        let taken = vec![Vec::new(); cores.min(MAX_CORES)];
        Self { holders: HashMap::default(), contended: HashSet::default(), taken }
    }

    /// A core takes a line. Returns the others that may hold it, a bit each.
    pub(super) fn ask(&mut self, line: Line, core: usize, is_write: bool) -> u64 {
        let own = 1 << (core % MAX_CORES);
        let holders = self.holders.entry(line).or_insert(0);
        let others = *holders & !own;
        *holders = if is_write { own } else { *holders | own };
        others
    }

    /// A core got a line, from another one or not.
    pub(super) fn set_contended(&mut self, line: Line, is_from_other: bool) {
        match is_from_other {
            true => self.contended.insert(line),
            false => self.contended.remove(&line),
        };
    }

    pub(super) fn is_contended(&self, line: Line) -> bool {
        self.contended.contains(&line)
    }

    pub(super) fn has_contended(&self) -> bool {
        !self.contended.is_empty()
    }

    /// The lines that others took from a core.
    pub(super) fn taken(&mut self, core: usize) -> &mut Vec<(Line, u64)> {
        &mut self.taken[core]
    }
}

/// Line numbers are spread already: one multiplication is enough.
#[derive(Debug, Default)]
struct LineHasher(u64);

impl std::hash::Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::directory::*;

    #[test]
    fn a_writer_is_alone_and_readers_are_not() {
        let mut directory = Directory::new(3);
        assert_eq!(directory.ask(7, 0, false), 0);
        assert_eq!(directory.ask(7, 1, false), 0b1);
        assert_eq!(directory.ask(7, 2, true), 0b11);
        assert_eq!(directory.ask(7, 0, false), 0b100);
        assert_eq!(directory.ask(8, 0, true), 0);
    }
}
