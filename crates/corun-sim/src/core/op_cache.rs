//! Decoded operations by address: what is found here is neither fetched nor decoded.

use crate::model::{Constants, OpCache as Model};

/// Lines of operations, each from one entry point on.
#[derive(Debug)]
pub(super) struct OpCache {
    ways: usize,
    sets: usize,
    window_shift: u32,
    operations: u32,
    constants: Option<Constants>,
    lines: Vec<Line>,
    clock: u64,
}

/// A decoded instruction as the op cache takes it in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoded {
    pub(super) address: u64,
    /// Bytes.
    pub(super) length: u8,
    pub(super) operations: u32,
    /// Immediates and displacements, those of 64 bits counted twice.
    pub(super) constants: u8,
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
    constants: u32,
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
            constants: model.constants,
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
    pub(super) fn fill(&mut self, filling: &mut Filling, decoded: Decoded) {
        let Decoded { address, operations, .. } = decoded;
        let (end, constants) = (address + u64::from(decoded.length), decoded.constants.into());
        let shift = self.window_shift;
        let joined = filling.0.filter(|line| {
            line.end == address
                && line.start >> shift == address >> shift
                && self.has_room(line.operations + operations, line.constants + constants)
        });
        filling.0 = Some(match joined {
            Some(Line { start, operations: before, constants: held, used, .. }) => {
                let (operations, constants) = (before + operations, held + constants);
                Line { start, end, operations, constants, used }
            }
            None => {
                self.finish(filling);
                Line { start: address, end, operations, constants, used: 0 }
            }
        });
    }

    /// Whether a line holds so many operations with so many constants.
    fn has_room(&self, operations: u32, constants: u32) -> bool {
        let more = match self.constants {
            Some(Constants { most, .. }) if constants > most => return false,
            Some(Constants { free, .. }) => constants.saturating_sub(free).div_ceil(2),
            None => 0,
        };
        operations + more <= self.operations
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that so many instructions behind each other take, the first with most of the constants.
    fn lines(cache: &mut OpCache, operations: u32, constants: u32) -> u32 {
        let (mut filling, mut count) = (Filling::default(), 0);
        for number in 0..operations {
            let own = constants / operations + u32::from(number < constants % operations);
            let address = 0x1000 + 4 * u64::from(number);
            let decoded = Decoded { address, length: 4, operations: 1, constants: own as u8 };
            cache.fill(&mut filling, decoded);
            count += u32::from(filling.0.is_some_and(|line| line.start == address));
        }
        count
    }

    /// As measured on Zen 3: code that needs a second line takes a cycle more.
    #[test]
    fn constants_take_room_in_a_line() {
        let model = crate::model::find("zen3").unwrap();
        let mut cache = OpCache::new(model.front.op_cache.as_ref().unwrap(), 1);
        let fits = [(8, 0), (8, 4), (7, 6), (6, 8), (5, 8), (4, 7)];
        assert!(
            fits.iter()
                .all(|&(operations, constants)| lines(&mut cache, operations, constants) == 1)
        );
        let too_much = [(9, 0), (8, 5), (7, 7), (6, 9), (5, 9)];
        assert!(
            too_much
                .iter()
                .all(|&(operations, constants)| lines(&mut cache, operations, constants) == 2)
        );
        let without = crate::model::find("ivy-bridge").unwrap();
        let mut cache = OpCache::new(without.front.op_cache.as_ref().unwrap(), 1);
        assert_eq!(lines(&mut cache, 6, 12), 1);
    }
}
