//! The content of a frame of touched lines: where in its thread it belongs, then each line as a step from the one before.

use super::error::Defect;
use super::events::LAST_INSTRUCTION;
use super::varint::{Cursor, fold, put, unfold};
use crate::touched::MAX_LINES;
use crate::{TouchedLine, TouchedLines};

/// The content of a frame; of too many lines the latest.
pub(super) fn write_lines(touched: &TouchedLines) -> Vec<u8> {
    let lines = &touched.lines[touched.lines.len().saturating_sub(MAX_LINES)..];
    let mut out = Vec::with_capacity(16 + 2 * lines.len());
    put(&mut out, touched.position.min(LAST_INSTRUCTION));
    put(&mut out, lines.len() as u64);
    let mut last = 0;
    for line in lines {
        put(&mut out, fold(line.bits().wrapping_sub(last)));
        last = line.bits();
    }
    out
}

/// Position in its thread of the lines of a frame.
pub(super) fn read_position(cursor: &mut Cursor, content: &[u8]) -> Result<u64, Defect> {
    cursor.number_up_to(content, LAST_INSTRUCTION, "the place of touched lines")
}

/// Reads the content of a frame.
pub(super) fn read_lines(content: &[u8]) -> Result<TouchedLines, Defect> {
    let mut cursor = Cursor::over(content);
    let position = read_position(&mut cursor, content)?;
    let count = cursor.number_up_to(content, MAX_LINES as u64, "a number of touched lines")?;
    let mut last = 0_u64;
    let mut lines = Vec::new();
    for _ in 0..count {
        last = last.wrapping_add(unfold(cursor.number(content, "a touched line")?));
        lines.push(TouchedLine::from_bits(last));
    }
    cursor.finish("the end of the touched lines")?;
    Ok(TouchedLines { position, lines })
}
