//! The screen as plain text of any length, for pipes and logs.

use std::fmt::Write as _;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::draw::{Colours, Plan, draw_cores, draw_head, draw_header, draw_pairs, draw_rows};
use super::view::View;

/// The most lines of cores: above, they are shown with less detail.
const MOST_CORE_LINES: u16 = 64;
/// The rows of tasks that are drawn at once.
const AT_ONCE: u16 = 64;

/// Text of the view, in lines of at most so many columns; nothing before the first interval.
pub fn text(view: &View, columns: u16) -> String {
    let Some(activity) = &view.activity else { return String::new() };
    let mut text = String::new();
    let part = |lines: u16, draw: &dyn Fn(Rect, &mut Buffer)| {
        let area = Rect::new(0, 0, columns, lines);
        let mut buffer = Buffer::empty(area);
        draw(area, &mut buffer);
        buffer
    };
    let has_reason = activity.co_busy.not_exact_because.is_some();
    let head = part(super::draw::HEAD_LINES - u16::from(!has_reason), &|area, buffer| {
        draw_head(view, activity, Colours::Off, area, buffer);
    });
    append(&mut text, &head);
    let plan = Plan::new(activity, view.detail, columns, MOST_CORE_LINES, true);
    let cores = part(plan.height(), &|area, buffer| {
        draw_cores(&plan, activity, 0, Colours::Off, area, buffer);
    });
    append(&mut text, &cores);
    if !view.pairs.is_empty() {
        let lines = view.pairs.len() as u16 + 1;
        append(
            &mut text,
            &part(lines, &|area, buffer| draw_pairs(&view.pairs, Colours::Off, area, buffer)),
        );
    }
    append(
        &mut text,
        &part(1, &|area, buffer| draw_header(&view.selection, Colours::Off, area, buffer)),
    );
    for first in (0..view.rows.len()).step_by(usize::from(AT_ONCE)) {
        let lines = AT_ONCE.min(u16::try_from(view.rows.len() - first).unwrap_or(AT_ONCE));
        append(
            &mut text,
            &part(lines, &|area, buffer| {
                draw_rows(view, activity, first, Colours::Off, area, buffer);
            }),
        );
    }
    text
}

/// Appends the lines of a buffer, without the blanks at their ends.
pub(super) fn append(text: &mut String, buffer: &Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    for line in buffer.content().chunks(width) {
        let mut skip = 0;
        let mut shown = String::new();
        for cell in line {
            // The cells that a wide character covers are blank.
            if skip == 0 {
                shown.push_str(cell.symbol());
                skip = ratatui_core::text::Span::raw(cell.symbol()).width().saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        let _ = writeln!(text, "{}", shown.trim_end());
    }
}
