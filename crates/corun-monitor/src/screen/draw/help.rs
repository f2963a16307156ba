//! The help: keys, glyphs and the formula.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::{Pen, bold};
use crate::screen::formula::FORMULA;

const KEYS: &str = include_str!("keys.txt");

fn text() -> impl Iterator<Item = (&'static str, bool)> {
    let heading = |text| std::iter::once((text, true));
    let plain = |text: &'static str| text.lines().map(|line| (line, false));
    heading("Keys")
        .chain(plain(KEYS))
        .chain([("", false), ("How much capacity was used", true), ("", false)])
        .chain(plain(FORMULA))
}

/// The lines of the help.
pub(in crate::screen) fn lines() -> usize {
    text().count()
}

/// Draws the help from a line on.
pub(super) fn draw(scroll: usize, area: Rect, buffer: &mut Buffer) {
    let first = scroll.min(lines().saturating_sub(usize::from(area.height)));
    for (line, (text, is_heading)) in (0..area.height).zip(text().skip(first)) {
        Pen::new(buffer, area, line).put(if is_heading { bold() } else { Style::new() }, text);
    }
}
