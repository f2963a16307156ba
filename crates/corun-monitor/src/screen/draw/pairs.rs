//! The pairs of threads that spend most time beside each other.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::{Colours, Pen, bold, points};
use crate::screen::pairs::Pair;

/// Draws a title and as many pairs as fit.
pub(in crate::screen) fn draw(pairs: &[Pair], colours: Colours, area: Rect, buffer: &mut Buffer) {
    Pen::new(buffer, area, 0)
        .put(bold(), "beside each other on siblings")
        .put(colours.dim(), "  share of the interval");
    for (line, pair) in (1..area.height).zip(pairs) {
        let mut pen = Pen::new(buffer, area, line);
        pen.put_right(colours.co_busy(), &format!("{} %", points(pair.together)), 7).skip(2);
        for (index, (name, thread)) in pair.names.iter().zip(pair.threads).enumerate() {
            if index > 0 {
                pen.put(colours.dim(), " + ");
            }
            pen.put(Style::new(), &corun_record::on_one_line(name));
            pen.put(colours.dim(), &format!(" {thread}"));
        }
    }
}
