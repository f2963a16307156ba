//! The index at the end of a trace, and the trailer that finds it.

use super::error::{Defect, FoundValue};
use super::events::Head;
use super::frame::{HEADER_LENGTH, Kind};
use super::lines::read_position;
use super::varint::{Cursor, put};

/// Bytes of the trailer: a frame that holds the offset of the index, not packed.
pub(super) const TRAILER_LENGTH: usize = HEADER_LENGTH + 8;

/// Entry of a frame: where it lies, and what part of which thread it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Offset in the file.
    pub offset: u64,
    pub content: EntryContent,
}

/// Content of a frame's entry in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryContent {
    Opening,
    Blocks,
    Events { thread: u32, head: Head },
    Closing,
    Lines { thread: u32, position: u64 },
}

impl EntryContent {
    /// The kind and the thread of its frame.
    pub(super) fn kind(&self) -> (Kind, u32) {
        match *self {
            Self::Opening => (Kind::Opening, 0),
            Self::Blocks => (Kind::Blocks, 0),
            Self::Events { thread, .. } => (Kind::Events, thread),
            Self::Closing => (Kind::Closing, 0),
            Self::Lines { thread, .. } => (Kind::Lines, thread),
        }
    }
}

/// The content of the index frame.
pub(super) fn write_index(entries: &[Entry]) -> Vec<u8> {
    let (mut out, mut last) = (Vec::new(), 0);
    put(&mut out, entries.len() as u64);
    for entry in entries {
        put(&mut out, entry.content.kind().0 as u64);
        put(&mut out, entry.offset - last);
        last = entry.offset;
        match entry.content {
            EntryContent::Events { thread, head } => {
                put(&mut out, u64::from(thread));
                head.put(&mut out);
            }
            EntryContent::Lines { thread, position } => {
                put(&mut out, u64::from(thread));
                put(&mut out, position);
            }
            EntryContent::Opening | EntryContent::Blocks | EntryContent::Closing => {}
        }
    }
    out
}

/// Reads the content of the index frame, which itself lies at `offset`.
pub(super) fn read_index(content: &[u8], offset: u64) -> Result<Vec<Entry>, Defect> {
    let mut cursor = Cursor::over(content);
    let count = cursor.number(content, "a number of frames")?;
    let (mut entries, mut last) = (Vec::new(), 0_u64);
    for _ in 0..count {
        let at = cursor.at;
        let kind = cursor.number(content, "a kind of frame")?;
        let step = cursor.number_up_to(content, offset - last, "a frame before the index")?;
        last += step;
        let mut thread = || {
            let most = u64::from(u32::MAX);
            Ok(cursor.number_up_to(content, most, "a thread")? as u32)
        };
        let content = match kind {
            1 => EntryContent::Opening,
            2 => EntryContent::Blocks,
            3 => {
                EntryContent::Events { thread: thread()?, head: Head::read(&mut cursor, content)? }
            }
            4 => EntryContent::Closing,
            7 => EntryContent::Lines {
                thread: thread()?,
                position: read_position(&mut cursor, content)?,
            },
            _ => {
                let expected = "a kind of frame that is listed (1 to 4, or 7)";
                return Err(Defect { at, expected, found: FoundValue::Number(kind) });
            }
        };
        entries.push(Entry { offset: last, content });
    }
    cursor.finish("the end of the index")?;
    Ok(entries)
}
