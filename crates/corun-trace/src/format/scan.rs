//! Finding one's way through a trace: by its index, or frame by frame where its writer died before it
//! wrote one.

use super::dictionary::{Shapes, read_blocks};
use super::error::FormatError;
use super::events::Head;
use super::frame::Kind;
use super::index::{Entry, EntryContent, TRAILER_LENGTH, read_index};
use super::lines::read_position;
use super::metadata::{Closing, Opening};
use super::source::Source;
use super::varint::Cursor;
use super::{MAGIC, PREAMBLE_LENGTH, VERSION};
use crate::Block;

/// Contents of a trace that are read before its events.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub opening: Option<Opening>,
    pub closing: Option<Closing>,
    pub blocks: Vec<Block>,
    pub shapes: Shapes,
}

impl Contents {
    /// Takes the content of a frame in, unless it is one of events, of touched lines or of the index.
    pub(super) fn take(&mut self, kind: Kind, content: &[u8], at: u64) -> Result<(), FormatError> {
        if self.opening.is_none() != (kind == Kind::Opening) {
            let found = format!("{kind:?} frame");
            return Err(FormatError::damaged(at, "the opening, once and first", found));
        }
        let not_json = |error: serde_json::Error| {
            FormatError::damaged(at, "metadata as JSON", error.to_string())
        };
        match kind {
            Kind::Opening => {
                self.opening = Some(serde_json::from_slice(content).map_err(not_json)?);
            }
            Kind::Closing => {
                self.closing = Some(serde_json::from_slice(content).map_err(not_json)?);
            }
            Kind::Blocks => {
                let blocks = read_blocks(content, self.shapes.len())
                    .map_err(|defect| defect.in_frame(at))?;
                blocks.iter().for_each(|block| self.shapes.push(block));
                self.blocks.extend(blocks);
            }
            Kind::Events | Kind::Lines | Kind::Index | Kind::End => {}
        }
        Ok(())
    }
}

/// Map of a trace's frames.
#[derive(Debug)]
pub(super) struct Map {
    pub contents: Contents,
    pub entries: Vec<Entry>,
    /// Damage: where reading cannot continue, and why; nothing where the file merely ends.
    pub damage: Option<FormatError>,
    /// True if the writer came to its end.
    pub has_end: bool,
    /// Up to where whole and sound frames lie.
    pub until: u64,
    /// Bytes after these that make no whole frame: of one that was cut off, or of nothing at all.
    pub left: u64,
}

impl Map {
    /// Damage: bytes at the end that are no whole frame.
    pub(super) fn rest(&self) -> Option<FormatError> {
        let found = format!("{} bytes that are no whole frame", self.left);
        let expected = "a frame, or the end of the file";
        (self.left > 0).then(|| FormatError::damaged(self.until, expected, found))
    }
}

/// Checks the first bytes of a trace.
pub(super) fn check_preamble(bytes: &[u8]) -> Result<(), FormatError> {
    let is_trace = bytes.len() == PREAMBLE_LENGTH && bytes[..MAGIC.len()] == MAGIC;
    if !is_trace {
        return Err(FormatError::NotATrace { found: bytes.to_owned() });
    }
    let version = &bytes[MAGIC.len()..];
    match u32::from_le_bytes(version.try_into().expect("four bytes")) {
        1..=VERSION => Ok(()),
        0 => Err(FormatError::NotATrace { found: bytes.to_owned() }),
        found => Err(FormatError::Newer { found }),
    }
}

/// Map of a trace.
pub(super) fn map(source: &Source) -> Result<Map, FormatError> {
    let mut preamble = [0; PREAMBLE_LENGTH];
    let length = source.length().min(PREAMBLE_LENGTH as u64) as usize;
    source.read(&mut preamble[..length], 0)?;
    check_preamble(&preamble[..length])?;
    let why = match by_index(source) {
        Ok(Some(map)) => return Ok(map),
        Ok(None) => None,
        Err(error) => Some(error),
    };
    let map = by_scan(source)?;
    Ok(Map { damage: map.damage.or(why), ..map })
}

/// Map by the index, if there is one.
pub(super) fn by_index(source: &Source) -> Result<Option<Map>, FormatError> {
    let Some(trailer) = source.length().checked_sub(TRAILER_LENGTH as u64) else { return Ok(None) };
    let (mut payload, mut content) = (Vec::new(), Vec::new());
    // What is no trailer is the middle of a frame whose writer died.
    let Ok(Some(header)) = source.frame(trailer, &mut payload, &mut content) else {
        return Ok(None);
    };
    let (Kind::End, Ok(offset)) = (header.kind, content[..].try_into()) else { return Ok(None) };
    let offset = u64::from_le_bytes(offset);
    let mut frame =
        |at, kind, content: &mut Vec<u8>| match source.frame(at, &mut payload, content)? {
            Some(header) if header.kind == kind => Ok(()),
            found => {
                let found = found.map_or("the end of the file".to_owned(), |header| {
                    format!("{:?} frame", header.kind)
                });
                Err(FormatError::damaged(at, format!("{kind:?} frame, as listed"), found))
            }
        };
    frame(offset, Kind::Index, &mut content)?;
    let entries = read_index(&content, offset).map_err(|defect| defect.in_frame(offset))?;
    let mut contents = Contents::default();
    for &Entry { offset, content: listed } in &entries {
        let kind = match listed {
            EntryContent::Opening => Kind::Opening,
            EntryContent::Blocks => Kind::Blocks,
            EntryContent::Closing => Kind::Closing,
            EntryContent::Events { .. } | EntryContent::Lines { .. } => continue,
        };
        frame(offset, kind, &mut content)?;
        contents.take(kind, &content, offset)?;
    }
    Ok(Some(Map {
        contents,
        entries,
        damage: None,
        has_end: true,
        until: source.length(),
        left: 0,
    }))
}

/// Map by reading every frame up to the last whole and sound one.
///
/// # Errors
/// If not even the opening can be read.
pub(super) fn by_scan(source: &Source) -> Result<Map, FormatError> {
    let mut map = Map {
        contents: Contents::default(),
        entries: Vec::new(),
        damage: None,
        has_end: false,
        until: PREAMBLE_LENGTH as u64,
        left: 0,
    };
    let (mut payload, mut content) = (Vec::new(), Vec::new());
    while !map.has_end {
        match next_frame(source, &mut payload, &mut content, &mut map) {
            Ok(Some(length)) => map.until += length,
            Ok(None) => break,
            Err(error) => {
                map.damage = Some(error);
                break;
            }
        }
    }
    if map.has_end && map.until != source.length() {
        let found = format!("{} bytes more", source.length() - map.until);
        map.damage = Some(FormatError::damaged(map.until, "the end of the file", found));
    }
    let is_cut = map.damage.is_none() && !map.has_end && map.until < source.length();
    if map.contents.opening.is_some() {
        map.left = if is_cut { source.length() - map.until } else { 0 };
        return Ok(map);
    }
    Err(map.damage.unwrap_or_else(|| {
        let at = PREAMBLE_LENGTH as u64;
        FormatError::damaged(at, "the opening of the trace", "the end of the file")
    }))
}

/// Takes in the frame after those of the map and says how long it is.
fn next_frame(
    source: &Source,
    payload: &mut Vec<u8>,
    content: &mut Vec<u8>,
    map: &mut Map,
) -> Result<Option<u64>, FormatError> {
    let at = map.until;
    let Some(header) = source.frame(at, payload, content)? else { return Ok(None) };
    map.contents.take(header.kind, content, at)?;
    let listed = match header.kind {
        Kind::Opening => Some(EntryContent::Opening),
        Kind::Blocks => Some(EntryContent::Blocks),
        Kind::Closing => Some(EntryContent::Closing),
        Kind::Events => {
            let head = Head::read(&mut Cursor::over(content), content)
                .map_err(|defect| defect.in_frame(at))?;
            Some(EntryContent::Events { thread: header.thread, head })
        }
        Kind::Lines => {
            let position = read_position(&mut Cursor::over(content), content)
                .map_err(|defect| defect.in_frame(at))?;
            Some(EntryContent::Lines { thread: header.thread, position })
        }
        Kind::Index => None,
        Kind::End => {
            map.has_end = true;
            None
        }
    };
    map.entries.extend(listed.map(|content| Entry { offset: at, content }));
    Ok(Some(header.length()))
}
