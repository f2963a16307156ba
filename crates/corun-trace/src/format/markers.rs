//! The column of markers: what else than whole blocks a thread does, and before which block.
//!
//! Blocks that were executed in part are written here, too, since they are as rare.

use super::error::{Defect, FoundValue};
use super::varint::{Cursor, fold, put, unfold};
use crate::{Marker, OrderedMarker, Phase};

/// Entry of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// Of the block that follows, only so many instructions were executed.
    Partial(u32),
    Marker(OrderedMarker),
}

/// Writes the column.
#[derive(Debug, Default)]
pub(super) struct MarkerWriter {
    bytes: Vec<u8>,
    position: u64,
    order: u64,
}

impl MarkerWriter {
    /// Adds what comes before the block with this place in the frame, counted from 0.
    pub(super) fn push(&mut self, position: u64, entry: Entry) {
        let out = &mut self.bytes;
        put(out, position - self.position);
        self.position = position;
        let OrderedMarker { order, marker } = match entry {
            Entry::Partial(executed) => {
                put(out, 0);
                put(out, u64::from(executed));
                return;
            }
            Entry::Marker(marker) => marker,
        };
        let (kind, field) = match marker {
            Marker::SystemCall(number) => (1, Some(number)),
            Marker::Signal(number) => (2, Some(u64::from(number))),
            Marker::Switch => (3, None),
            Marker::Forked(process) => (4, Some(u64::from(process))),
            Marker::Replaced => (5, None),
            Marker::Begin { phase: Phase::WarmUp, skipped } => (6, Some(skipped)),
            Marker::Begin { phase: Phase::Counted, skipped } => (7, Some(skipped)),
            Marker::Ended => (8, None),
            Marker::Atomic => (9, None),
        };
        put(out, kind);
        if let Some(field) = field {
            put(out, field);
        }
        put(out, fold(order.wrapping_sub(self.order)));
        self.order = order;
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The finished column; a new one is begun.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
    }
}

/// Reads the column.
#[derive(Debug, Default)]
pub(super) struct MarkerReader {
    cursor: Cursor,
    position: Option<u64>,
    order: u64,
}

impl MarkerReader {
    pub(super) fn over(cursor: Cursor, content: &[u8]) -> Result<Self, Defect> {
        let mut reader = Self { cursor, position: Some(0), order: 0 };
        reader.advance(content)?;
        Ok(reader)
    }

    /// True if the next entry comes before the block with this place in the frame.
    #[inline]
    pub(super) fn is_due(&self, position: u64) -> bool {
        self.position == Some(position)
    }

    /// The next entry.
    pub(super) fn next(&mut self, content: &[u8]) -> Result<Entry, Defect> {
        let at = self.cursor.at;
        let kind = self.cursor.number(content, "a kind of marker")?;
        let cursor = &mut self.cursor;
        let mut field = |expected| cursor.number(content, expected);
        let mut narrow = |expected| {
            let number = field(expected)?;
            u32::try_from(number).map_err(|_| Defect {
                at,
                expected,
                found: FoundValue::Number(number),
            })
        };
        let marker = match kind {
            0 => {
                let executed = narrow("a number of executed instructions")?;
                self.advance(content)?;
                return Ok(Entry::Partial(executed));
            }
            1 => Marker::SystemCall(field("a system call")?),
            2 => Marker::Signal(narrow("a signal")?),
            3 => Marker::Switch,
            4 => Marker::Forked(narrow("a process id")?),
            5 => Marker::Replaced,
            6 => Marker::Begin { phase: Phase::WarmUp, skipped: field(SKIPPED)? },
            7 => Marker::Begin { phase: Phase::Counted, skipped: field(SKIPPED)? },
            8 => Marker::Ended,
            9 => Marker::Atomic,
            _ => {
                let expected = "a kind of marker (0 to 9)";
                return Err(Defect { at, expected, found: FoundValue::Number(kind) });
            }
        };
        let step = unfold(self.cursor.number(content, "a marker's order")?);
        self.order = self.order.wrapping_add(step);
        self.advance(content)?;
        Ok(Entry::Marker(OrderedMarker { order: self.order, marker }))
    }

    /// Nothing may be left.
    pub(super) fn finish(&self) -> Result<(), Defect> {
        match self.position {
            None => Ok(()),
            Some(position) => Err(Defect {
                at: self.cursor.at,
                expected: "no marker beyond the frame's last block",
                found: FoundValue::Number(position),
            }),
        }
    }

    fn advance(&mut self, content: &[u8]) -> Result<(), Defect> {
        self.position = match self.position {
            Some(position) if !self.cursor.is_empty() => {
                let step = self.cursor.number(content, "a marker's place")?;
                Some(position.saturating_add(step))
            }
            _ => None,
        };
        Ok(())
    }
}

const SKIPPED: &str = "a number of skipped instructions";
