//! Drawing: a view and a size become cells of a buffer.
//!
//! Every state has a glyph of its own, so that colour is never needed; with colours, blue and yellow tell one busy
//! sibling from several, which people with any common colour blindness can tell apart.

mod cores;
mod head;
mod help;
mod pairs;
mod pen;
mod tasks;

use corun_record::Activity;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::order::SortBy;
use super::view::View;
use pen::Pen;

pub(super) use cores::{Plan, draw as draw_cores};
pub(super) use head::{MOST_LINES as HEAD_LINES, draw as draw_head};
pub(super) use help::lines as help_lines;
pub(super) use pairs::draw as draw_pairs;
pub(super) use tasks::{draw_header, draw_rows};

/// Use of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Blue and yellow from the terminal's own palette.
    On,
    /// None: bold type and glyphs alone, as `NO_COLOR` asks.
    Off,
}

impl Colours {
    fn with(self, colour: Color) -> Style {
        match self {
            Self::On => Style::new().fg(colour),
            Self::Off => Style::new(),
        }
    }

    fn one_busy(self) -> Style {
        self.with(Color::LightBlue)
    }

    fn co_busy(self) -> Style {
        self.with(Color::Yellow)
    }

    fn dim(self) -> Style {
        self.with(Color::DarkGray)
    }
}

/// Bold type.
fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A share of a whole in whole points of percent.
fn points(share: f64) -> String {
    // A sum of nothing is -0.
    format!("{:.0}", (share * 100.0).clamp(0.0, 100.0) + 0.0)
}

/// From this height on, parts have titles.
const TITLES_FROM: u16 = 20;

/// From this height on, it is said why nothing more exact is known.
const REASONS_FROM: u16 = 30;

/// Draws the view into an area of a buffer.
pub fn draw(view: &View, colours: Colours, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let (area, foot) = above_foot(area);
    draw_foot(view, colours, foot, buffer);
    if view.shows_help {
        return help::draw(view.help_scroll, area, buffer);
    }
    let Some(activity) = &view.activity else {
        Pen::new(buffer, area, 0).put(bold(), "corun top").put(
            colours.dim(),
            view.ended.as_deref().unwrap_or("  waiting for the first interval"),
        );
        return;
    };
    let parts = Parts::of(view, activity, area);
    draw_head(view, activity, colours, parts.head, buffer);
    draw_cores(&parts.plan, activity, view.core_scroll, colours, parts.cores, buffer);
    draw_pairs(&view.pairs, colours, parts.pairs, buffer);
    draw_header(&view.selection, colours, parts.tasks, buffer);
    let below =
        Rect { y: parts.tasks.y + 1, height: parts.tasks.height.saturating_sub(1), ..parts.tasks };
    draw_rows(view, activity, view.task_scroll, colours, below, buffer);
}

/// Sort key of the column whose title stands at this place; `None` where no such title stands.
pub(super) fn sort_at(view: &View, area: Rect, x: u16, y: u16) -> Option<SortBy> {
    let (area, _) = above_foot(area);
    let activity = view.activity.as_ref().filter(|_| !view.shows_help)?;
    let tasks = Parts::of(view, activity, area).tasks;
    let is_header = y == tasks.y && tasks.height > 0 && x >= tasks.x;
    is_header.then(|| tasks::sort_at(&view.selection, tasks.width, x - tasks.x)).flatten()
}

/// An area without its last line, and this line; a single line is no foot.
fn above_foot(area: Rect) -> (Rect, Rect) {
    let lines = u16::from(area.height > 1);
    let above = Rect { height: area.height - lines, ..area };
    (above, Rect { y: above.bottom(), height: lines, ..area })
}

/// Areas of the parts.
struct Parts {
    head: Rect,
    cores: Rect,
    plan: Plan,
    pairs: Rect,
    tasks: Rect,
}

impl Parts {
    fn of(view: &View, activity: &Activity, area: Rect) -> Self {
        let has_titles = area.height >= TITLES_FROM;
        let mut rest = area;
        let has_reason = activity.co_busy.not_exact_because.is_some();
        let lines = match area.height {
            height if height < TITLES_FROM => head::FEWEST_LINES,
            height if height < REASONS_FROM || !has_reason => head::LINES,
            _ => head::MOST_LINES,
        };
        let head = take(&mut rest, lines);
        let title = u16::from(has_titles);
        let plan = Plan::new(
            activity,
            view.detail,
            area.width,
            (rest.height * 2 / 5).max(1 + title),
            has_titles,
        );
        let cores = take(&mut rest, plan.height());
        let most_pairs = match area.height {
            height if !view.shows_pairs || height < TITLES_FROM => 0,
            height if height < 38 => 3,
            _ => 8,
        };
        let shown = u16::try_from(view.pairs.len()).unwrap_or(u16::MAX).min(most_pairs);
        let pairs = take(&mut rest, if shown == 0 { 0 } else { shown + 1 });
        Self { head, cores, plan, pairs, tasks: rest }
    }
}

/// Takes so many lines from the top of an area.
fn take(area: &mut Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    let top = Rect { height: lines, ..*area };
    *area = Rect { y: area.y + lines, height: area.height - lines, ..*area };
    top
}

fn draw_foot(view: &View, colours: Colours, area: Rect, buffer: &mut Buffer) {
    let selection = &view.selection;
    let mut pen = Pen::new(buffer, area, 0);
    if view.is_typing {
        let filter = corun_record::on_one_line(&selection.filter);
        pen.put(bold(), "filter: ").put(Style::new(), &filter).put(bold(), "_");
        pen.put(colours.dim(), "  Enter keeps it, Escape clears it");
        return;
    }
    if let Some(ended) = &view.ended {
        pen.put(bold(), &corun_record::on_one_line(ended)).put(Style::new(), "  ");
    }
    let tree = selection.grouping.word();
    let rows = if selection.threads { "threads" } else { "processes" };
    for (key, does) in [
        ("?", "help".to_owned()),
        ("q", "quit".to_owned()),
        ("space", if view.is_paused { "go on" } else { "pause" }.to_owned()),
        (
            "/",
            match selection.filter.as_str() {
                "" => "filter".to_owned(),
                filter => format!("filter: {}", corun_record::on_one_line(filter)),
            },
        ),
        ("t", format!("tree: {tree}")),
        ("H", rows.to_owned()),
        ("u n c g b a", "sort".to_owned()),
        ("r", "reverse".to_owned()),
        ("d", "cores".to_owned()),
        ("p", "pairs".to_owned()),
    ] {
        pen.put(bold(), key)
            .put(Style::new(), " ")
            .put(colours.dim(), &does)
            .put(Style::new(), "  ");
    }
}
