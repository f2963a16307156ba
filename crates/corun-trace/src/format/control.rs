//! The column of blocks: which block follows, written only where a prediction fails.
//!
//! Two tables remember what came next the last time, one by the last few blocks, one by the last block
//! alone: the finite-context prediction of Burtscher's VPC (2004), with the history folded into a hash.

use super::error::{Defect, FoundValue};
use super::runs::{RunReader, RunWriter};
use super::varint::{Cursor, fold, unfold};

/// Entries of each table, as a power of two: half a mebibyte each, so that they stay in a core's cache.
const TABLE_BITS: u32 = 16;
/// Bits by which a block pushes the older ones out of the 64 bits of history.
const HISTORY_SHIFT: u32 = 8;
/// 2^64 divided by the golden ratio: spreads neighbouring numbers over the table (Knuth, volume 3).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Writes the column.
#[derive(Debug, Default)]
pub(super) struct ControlWriter {
    successors: Successors,
    runs: RunWriter,
}

impl ControlWriter {
    #[inline]
    pub(super) fn push(&mut self, block: u32) {
        let (first, second) = self.successors.expected();
        if block == first {
            self.runs.hit();
        } else if block == second {
            self.runs.miss(0);
        } else {
            let step = i64::from(block) - i64::from(self.successors.sequential());
            self.runs.miss(1 + fold(step as u64));
        }
        self.successors.learn(block);
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The finished column; a new one is begun.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.successors.forget();
        self.runs.take()
    }
}

/// Reads the column.
#[derive(Debug, Default)]
pub(super) struct ControlReader {
    successors: Successors,
    runs: RunReader,
}

impl ControlReader {
    pub(super) fn begin(&mut self, cursor: Cursor, content: &[u8]) -> Result<(), Defect> {
        self.successors.forget();
        self.runs = RunReader::over(cursor, content)?;
        Ok(())
    }

    /// The next block; `blocks` is how many there are.
    #[inline]
    pub(super) fn next(&mut self, content: &[u8], blocks: u32) -> Result<u32, Defect> {
        let (first, second) = self.successors.expected();
        let block = match self.runs.next(content)? {
            None => u64::from(first),
            Some(0) => u64::from(second),
            Some(code) => u64::from(self.successors.sequential()).wrapping_add(unfold(code - 1)),
        };
        if block >= u64::from(blocks) {
            return Err(Defect {
                at: self.runs.at(),
                expected: "a block of the dictionary",
                found: FoundValue::Number(block),
            });
        }
        self.successors.learn(block as u32);
        Ok(block as u32)
    }

    pub(super) fn finish(&self) -> Result<(), Defect> {
        self.runs.finish()
    }
}

/// Successors of the last time.
#[derive(Debug)]
struct Successors {
    /// An entry is the epoch in its upper half and a block in its lower; of another epoch, it is empty.
    by_history: Box<[u64]>,
    by_block: Box<[u64]>,
    epoch: u32,
    history: u64,
    last: u32,
}

impl Default for Successors {
    fn default() -> Self {
        let table = || vec![0; 1 << TABLE_BITS].into_boxed_slice();
        Self { by_history: table(), by_block: table(), epoch: 1, history: 0, last: u32::MAX }
    }
}

impl Successors {
    fn forget(&mut self) {
        if self.epoch == u32::MAX {
            *self = Self::default();
        }
        self.epoch += 1;
        self.history = 0;
        self.last = u32::MAX;
    }

    /// The block with the next identity: identities follow the order of first execution, so code that
    /// was not seen in this frame tends to run through them.
    #[inline]
    fn sequential(&self) -> u32 {
        self.last.wrapping_add(1)
    }

    /// Block expected after the history, and after the last block.
    #[inline]
    fn expected(&self) -> (u32, u32) {
        let of = |entry: u64, otherwise| {
            if (entry >> 32) as u32 == self.epoch { entry as u32 } else { otherwise }
        };
        let second = of(self.by_block[self.block_index()], self.sequential());
        (of(self.by_history[self.history_index()], second), second)
    }

    #[inline]
    fn learn(&mut self, block: u32) {
        let entry = u64::from(self.epoch) << 32 | u64::from(block);
        self.by_history[self.history_index()] = entry;
        self.by_block[self.block_index()] = entry;
        self.history = self.history << HISTORY_SHIFT ^ u64::from(block).wrapping_mul(SPREAD) >> 32;
        self.last = block;
    }

    #[inline]
    fn history_index(&self) -> usize {
        (self.history.wrapping_mul(SPREAD) >> (64 - TABLE_BITS)) as usize
    }

    #[inline]
    fn block_index(&self) -> usize {
        self.last as usize & ((1 << TABLE_BITS) - 1)
    }
}
