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
}

/// The line that a thread is filling.
#[derive(Debug, Default)]
pub(super) struct Filling(Option<Line>);

/// Operations that follow each other from one address on.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    start: u64,
    end: u64,
    operations: u32,
    used: u64,
}

impl OpCache {
    /// One of so many equal parts: of its sets if that is possible, else of its ways.
    pub(super) fn new(model: &Model, parts: u32) -> Self {
        let by_sets = model.sets.is_multiple_of(parts);
        let (sets, ways) = if by_sets { (parts, 1) } else { (1, parts) };
        let (sets, ways) = ((model.sets / sets).max(1), (model.ways / ways).max(1));
        let (sets, ways) = (sets as usize, ways as usize);
        Self {
            ways,
            sets,
            window_shift: model.window.trailing_zeros(),
            operations: model.line,
            lines: vec![Line::default(); sets * ways],
            clock: 0,
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

    /// Whether a line begins here.
    pub(super) fn holds(&mut self, address: u64) -> bool {
        self.set(address).iter().any(|line| line.start == address && line.used > 0)
    }

    /// Takes in a decoded instruction.
    pub(super) fn fill(
        &mut self,
        filling: &mut Filling,
        address: u64,
        length: u8,
        operations: u32,
    ) {
        let end = address + u64::from(length);
        let shift = self.window_shift;
        let joined = filling.0.filter(|line| {
            line.end == address
                && line.start >> shift == address >> shift
                && line.operations + operations <= self.operations
        });
        match joined {
            Some(line) => {
                filling.0 = Some(Line { end, operations: line.operations + operations, ..line });
            }
            None => {
                self.finish(filling);
                filling.0 = Some(Line { start: address, end, operations, used: 0 });
            }
        }
    }

    /// Puts the line that is being filled in its place.
    pub(super) fn finish(&mut self, filling: &mut Filling) {
        let Some(line) = filling.0.take() else { return };
        self.clock += 1;
        let clock = self.clock;
        let set = self.set(line.start);
        let same = set.iter().position(|known| known.start == line.start && known.used > 0);
        let oldest = (0..set.len()).min_by_key(|&way| set[way].used).unwrap_or(0);
        set[same.unwrap_or(oldest)] = Line { used: clock, ..line };
    }
}
