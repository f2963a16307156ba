//! Writing on one line of a buffer, from left to right, never beyond its area.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

/// A place on a line.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    x: u16,
    y: u16,
    right: u16,
}

impl<'a> Pen<'a> {
    /// At the left end of a line of an area.
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect, line: u16) -> Self {
        let y = area.y.saturating_add(line);
        // A line below the area takes nothing.
        let is_inside = line < area.height && y < buffer.area.bottom();
        let right = if is_inside { area.right().min(buffer.area.right()) } else { area.x };
        Self { buffer, x: area.x, y, right }
    }

    /// The columns that are left.
    pub(super) fn left(&self) -> u16 {
        self.right.saturating_sub(self.x)
    }

    /// Writes a text, cut where the area ends.
    pub(super) fn put(&mut self, style: Style, text: &str) -> &mut Self {
        if self.left() > 0 {
            let left = usize::from(self.left());
            self.x = self.buffer.set_stringn(self.x, self.y, text, left, style).0;
        }
        self
    }

    /// Writes a text at the left of a column of this width, and goes to its end.
    pub(super) fn put_left(&mut self, style: Style, text: &str, width: u16) -> &mut Self {
        let end = self.x.saturating_add(width).min(self.right);
        if end > self.x {
            self.buffer.set_stringn(self.x, self.y, text, usize::from(end - self.x), style);
            self.x = end;
        }
        self
    }

    /// Writes a figure (ASCII) at the right of a column of this width, and goes to its end.
    pub(super) fn put_right(&mut self, style: Style, text: &str, width: u16) -> &mut Self {
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX).min(width);
        self.skip(width - length);
        self.put_left(style, text, length)
    }

    /// Leaves columns free.
    pub(super) fn skip(&mut self, columns: u16) -> &mut Self {
        self.x = self.x.saturating_add(columns).min(self.right);
        self
    }

    /// Draws a bar: each cell shows the part that its middle lies in. Parts end at ascending shares.
    pub(super) fn bar(&mut self, width: u16, parts: &[(f64, &str, Style)]) -> &mut Self {
        let width = width.min(self.left());
        for cell in 0..width {
            let middle = (f64::from(cell) + 0.5) / f64::from(width);
            let part = parts.iter().find(|part| middle < part.0).or(parts.last());
            if let Some((_, glyph, style)) = part {
                self.put(*style, glyph);
            }
        }
        self
    }
}
