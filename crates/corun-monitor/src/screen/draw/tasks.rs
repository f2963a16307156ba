//! The table of tasks.

use corun_machine::CpuSet;
use corun_record::{Activity, TaskActivity, on_one_line};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use super::{Colours, Pen, bold, points};
use crate::screen::order::SortBy;
use crate::screen::pairs::LEAST_TOGETHER;
use crate::screen::rows::{Grouping, Row, RowKind, Selection};
use crate::screen::view::View;

/// A column of the table.
struct Column {
    title: &'static str,
    width: u16,
    /// The table's width from which on it is there.
    from: u16,
    sorts: Option<SortBy>,
    content: fn(&Row, &TaskActivity) -> String,
    is_text: bool,
}

const fn figure(
    title: &'static str,
    width: u16,
    from: u16,
    sorts: Option<SortBy>,
    content: fn(&Row, &TaskActivity) -> String,
) -> Column {
    Column { title, width, from, sorts, content, is_text: false }
}

const fn text(
    title: &'static str,
    width: u16,
    from: u16,
    sorts: Option<SortBy>,
    content: fn(&Row, &TaskActivity) -> String,
) -> Column {
    Column { title, width, from, sorts, content, is_text: true }
}

/// Text where nothing is known.
const UNKNOWN: &str = "-";

const COLUMNS: &[Column] = &[
    figure("ID", 8, 0, Some(SortBy::Number), |row, _| match row.kind {
        RowKind::Group(_) => String::new(),
        RowKind::Thread | RowKind::Process => row.number.to_string(),
    }),
    figure("PROCESS", 8, 100, None, |row, task| match row.kind {
        RowKind::Thread => task.process.to_string(),
        RowKind::Process | RowKind::Group(_) => String::new(),
    }),
    figure("P", 5, 0, Some(SortBy::Cpu), |row, _| match row.kind {
        RowKind::Group(_) => String::new(),
        RowKind::Thread | RowKind::Process => row.cpu.to_string(),
    }),
    figure("%CPU", 7, 0, Some(SortBy::Used), |row, _| format!("{:.1}", row.used() * 100.0)),
    figure("%SYS", 7, 70, None, |row, _| format!("{:.1}", row.system * 100.0)),
    figure("MIGR", 6, 60, Some(SortBy::Migrations), |row, _| {
        row.migrations.map_or(UNKNOWN.to_owned(), |it| it.to_string())
    }),
    figure("BESIDE", 8, 0, Some(SortBy::Beside), |row, _| {
        row.beside.map_or(UNKNOWN.to_owned(), |it| format!("{}%", points(it)))
    }),
    text("CPUS", 13, 120, None, |row, task| match row.kind {
        RowKind::Thread => task.cpus.iter().copied().collect::<CpuSet>().to_string(),
        RowKind::Process | RowKind::Group(_) => String::new(),
    }),
    text("NAME", NAME, 0, Some(SortBy::Name), name),
    text("WITH", WITH, 75, None, |row, task| match row.kind {
        RowKind::Group(_) => String::new(),
        RowKind::Process if row.threads > 1 => String::new(),
        RowKind::Thread | RowKind::Process => with(task),
    }),
    text("CONTROL GROUP", u16::MAX, 140, None, |_, task| {
        task.cgroup.as_deref().map_or(UNKNOWN.to_owned(), on_one_line)
    }),
];

/// The width of names, and of those in a tree.
const NAME: u16 = 20;
const NAME_IN_TREE: u16 = 38;
/// The width of the threads beside a task.
const WITH: u16 = 44;

/// The columns of a table of this width, with the width of each.
fn columns(width: u16, selection: &Selection) -> impl Iterator<Item = (&'static Column, u16)> {
    let is_tree = selection.grouping != Grouping::Flat;
    let more = if is_tree { NAME_IN_TREE - NAME } else { 0 };
    COLUMNS.iter().filter_map(move |column| {
        // Names in a tree take the room that others leave.
        let from = if column.from > 70 { column.from + more } else { column.from };
        let added = if column.sorts == Some(SortBy::Name) { more } else { 0 };
        (width >= from).then_some((column, column.width.saturating_add(added)))
    })
}

/// Sort key of the column in which `x`, counted from the table's left edge, lies.
pub(super) fn sort_at(selection: &Selection, width: u16, x: u16) -> Option<SortBy> {
    let ends = columns(width, selection).scan(0_u16, |end, (column, width)| {
        *end = end.saturating_add(width);
        Some((column, *end))
    });
    let mut from_x = ends.filter(|(_, end)| x < *end);
    from_x.next()?.0.sorts
}

/// Draws the titles of the columns.
pub(in crate::screen) fn draw_header(
    selection: &Selection,
    colours: Colours,
    area: Rect,
    buffer: &mut Buffer,
) {
    let order = selection.order;
    let mut pen = Pen::new(buffer, area, 0);
    for (column, width) in columns(area.width, selection) {
        let is_sorted = column.sorts == Some(order.by);
        let style =
            if is_sorted { bold().add_modifier(Modifier::UNDERLINED) } else { colours.dim() };
        // The arrow's column is that between two columns.
        let arrow = match (is_sorted, order.reversed) {
            (false, _) => " ",
            (true, false) => "\u{25bc}",
            (true, true) => "\u{25b2}",
        };
        if column.is_text {
            pen.put(Style::new(), " ").put_left(style, column.title, column.title.len() as u16);
            pen.put(bold(), arrow);
            pen.skip(width.saturating_sub(column.title.len() as u16 + 2));
        } else {
            pen.put_right(style, column.title, width - 1).put(bold(), arrow);
        }
    }
}

/// Draws the rows from one of them on.
pub(in crate::screen) fn draw_rows(
    view: &View,
    activity: &Activity,
    first: usize,
    colours: Colours,
    area: Rect,
    buffer: &mut Buffer,
) {
    for (line, row) in (0..area.height).zip(view.rows.iter().skip(first)) {
        let Some(task) = activity.tasks.get(row.task) else { continue };
        let mut pen = Pen::new(buffer, area, line);
        for (column, width) in columns(area.width, &view.selection) {
            let text = (column.content)(row, task);
            let style = match (&row.kind, column.sorts) {
                (RowKind::Group(_), _) => bold(),
                (_, Some(SortBy::Beside)) => colours.co_busy(),
                _ => Style::new(),
            };
            if column.is_text {
                pen.put(Style::new(), " ").put_left(style, &text, width.saturating_sub(1));
            } else {
                pen.put_right(style, &text, width - 1).skip(1);
            }
        }
    }
}

/// The name, indented by its place in a tree.
fn name(row: &Row, task: &TaskActivity) -> String {
    // Deep trees keep some room for their names.
    let indent = "  ".repeat(row.depth.min(6));
    match &row.kind {
        RowKind::Group(path) => format!("{indent}{}", on_one_line(path)),
        RowKind::Thread => format!("{indent}{}", on_one_line(&task.name)),
        RowKind::Process if row.threads > 1 => {
            format!("{indent}{} ({})", on_one_line(&task.name), row.threads)
        }
        RowKind::Process => format!("{indent}{}", on_one_line(&task.name)),
    }
}

/// The threads beside a task for most of the time: the share of the interval, name and number of each.
fn with(task: &TaskActivity) -> String {
    let shown = task
        .beside
        .iter()
        .filter(|it| it.together >= LEAST_TOGETHER)
        .take(2)
        .map(|it| format!("{}% {} {}", points(it.together), on_one_line(&it.name), it.thread));
    shown.collect::<Vec<_>>().join(", ")
}
