//! Decoded operations by address: what is found here is neither fetched nor decoded.

use crate::model::OpCache as Model;

/// Lines of operations, each from one entry point on.
#[derive(Debug)]
pub(super) struct OpCache {
    ways: usize,
    sets: usize,
    window_shift: u32,
    operations: u32,
    lines: Vec<Line>,
    clock: u64,
    filling: Option<Line>,
}

/// Operations that follow each other from one address on.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    start: u64,
    end: u64,
    operations: u32,
    used: u64,
}

impl OpCache {
    pub(super) fn new(model: &Model) -> Self {
        let (sets, ways) = (model.sets.max(1) as usize, model.ways.max(1) as usize);
        Self {
            ways,
            sets,
            window_shift: model.window.trailing_zeros(),
            operations: model.line,
            lines: vec![Line::default(); sets * ways],
            clock: 0,
            filling: None,
        }
    }

    fn set(&mut self, address: u64) -> &mut [Line] {
        let set = (address >> self.window_shift) as usize % self.sets;
        &mut self.lines[set * self.ways..][..self.ways]
    }

    /// The address behind the line that begins here, if there is one.
    pub(super) fn find(&mut self, address: u64) -> Option<u64> {
        self.clock += 1;
        let clock = self.clock;
        let line =
            self.set(address).iter_mut().find(|line| line.start == address && line.used > 0)?;
        line.used = clock;
        Some(line.end)
    }

    /// Takes in a decoded instruction; `ends` after a branch that is taken.
    pub(super) fn fill(&mut self, address: u64, length: u8, operations: u32, ends: bool) {
        let end = address + u64::from(length);
        let shift = self.window_shift;
        let joined = self.filling.filter(|line| {
            line.end == address
                && line.start >> shift == address >> shift
                && line.operations + operations <= self.operations
        });
        match joined {
            Some(line) => {
                self.filling = Some(Line { end, operations: line.operations + operations, ..line });
            }
            None => {
                self.finish();
                self.filling = Some(Line { start: address, end, operations, used: 0 });
            }
        }
        if ends {
            self.finish();
        }
    }

    /// Puts the line that is being filled in its place.
    pub(super) fn finish(&mut self) {
        let Some(line) = self.filling.take() else { return };
        self.clock += 1;
        let clock = self.clock;
        let set = self.set(line.start);
        let same = set.iter().position(|known| known.start == line.start && known.used > 0);
        let oldest = (0..set.len()).min_by_key(|&way| set[way].used).unwrap_or(0);
        set[same.unwrap_or(oldest)] = Line { used: clock, ..line };
    }
}
