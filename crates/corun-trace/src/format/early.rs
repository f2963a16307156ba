//! An end for a trace whose writer found no room for one: what it wrote last makes room.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};

use super::frame::Packer;
use super::index::{Entry, EntryContent};
use super::metadata::Closing;
use super::scan::by_scan;
use super::source::Source;
use super::writer::{Frames, Options};

/// Ends a trace after its last whole frame, or, where there is no room after that, after an earlier one.
/// A trace that has its end stays as it is. Returns how many instructions can be read.
///
/// # Errors
/// If it is no file that can be read and written, or no trace, or there is no room whatever is left out.
pub fn end_early(file: File, closing: &Closing) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let map =
        by_scan(&Source::File { file: file.try_clone()?, length }).map_err(io::Error::other)?;
    if map.has_end {
        return Ok(instructions(&map.entries));
    }
    let content = serde_json::to_vec(closing)?;
    let packer = Packer::new(Options::default().level)?;
    let mut frames = Frames { output: file, packer, entries: map.entries, offset: map.until };
    loop {
        let (whole, offset) = (frames.entries.len(), frames.offset);
        frames.output.set_len(offset)?;
        frames.output.seek(SeekFrom::Start(offset))?;
        let ended = frames.put(&content, EntryContent::Closing).and_then(|()| frames.end());
        let Err(error) = ended else { return Ok(instructions(&frames.entries)) };
        frames.entries.truncate(whole);
        match frames.entries.pop() {
            Some(last) if last.content != EntryContent::Opening => frames.offset = last.offset,
            _ => return Err(error),
        }
    }
}

fn instructions(entries: &[Entry]) -> u64 {
    let of = |entry: &Entry| match entry.content {
        EntryContent::Events { head, .. } => head.instructions,
        _ => 0,
    };
    entries.iter().map(of).sum()
}
