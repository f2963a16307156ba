//! A column of predictions: how often one was right, what came instead when it was wrong, and so on.
//!
//! A column is `hits, code, hits, code, ..., hits`, all of them numbers. The last hits reach the end
//! of the frame, so that a column is read to its last byte or is damaged.

use super::error::{Defect, FoundValue};
use super::varint::{Cursor, put};

/// Writes a column.
#[derive(Debug, Default)]
pub(super) struct RunWriter {
    bytes: Vec<u8>,
    hits: u64,
}

impl RunWriter {
    #[inline]
    pub(super) fn hit(&mut self) {
        self.hits += 1;
    }

    #[inline]
    pub(super) fn miss(&mut self, code: u64) {
        put(&mut self.bytes, self.hits);
        put(&mut self.bytes, code);
        self.hits = 0;
    }

    /// Bytes up to now, but for the last hits.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The finished column; a new one is begun.
    pub(super) fn take(&mut self) -> Vec<u8> {
        put(&mut self.bytes, std::mem::take(&mut self.hits));
        std::mem::take(&mut self.bytes)
    }
}

/// Reads a column.
#[derive(Debug, Default)]
pub(super) struct RunReader {
    cursor: Cursor,
    hits: u64,
}

const HITS: &str = "a number of hits";

impl RunReader {
    pub(super) fn over(mut cursor: Cursor, content: &[u8]) -> Result<Self, Defect> {
        let hits = cursor.number(content, HITS)?;
        Ok(Self { cursor, hits })
    }

    /// The code of a miss, or `None` for a hit.
    #[inline]
    pub(super) fn next(&mut self, content: &[u8]) -> Result<Option<u64>, Defect> {
        if self.hits > 0 {
            self.hits -= 1;
            return Ok(None);
        }
        let code = self.cursor.number(content, "the code of a miss")?;
        self.hits = self.cursor.number(content, HITS)?;
        Ok(Some(code))
    }

    /// Place of the next code.
    pub(super) fn at(&self) -> usize {
        self.cursor.at
    }

    /// Nothing may be left.
    pub(super) fn finish(&self) -> Result<(), Defect> {
        self.cursor.finish("the end of the column")?;
        match self.hits {
            0 => Ok(()),
            hits => Err(Defect {
                at: self.cursor.at,
                expected: "no more hits than the frame has events",
                found: FoundValue::Left(hits),
            }),
        }
    }
}
