//! A run for the terminal.

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table as Grid, presets};
use corun_record::Run;

use crate::prose;
use crate::tables::{self, Table};

/// The run as text for a terminal of this many columns.
pub fn to_terminal(run: &Run, columns: u16) -> String {
    let mut text = prose::heading(run).join("\n");
    text.push_str("\n\n");
    if run.is_partial() {
        text.push_str("PARTIAL RESULT: the experiment was cut short.\n\n");
    }
    text.push_str(&grid(&tables::arms(run), columns));
    text.push_str("\n\n");
    for table in [tables::details(run), tables::comparisons(run), tables::latencies(run)] {
        if !table.rows.is_empty() {
            text.push_str(&grid(&table, columns));
            text.push_str("\n\n");
        }
    }
    for answer in prose::answers(run) {
        text.push_str(&wrap(&answer, "", columns));
    }
    section(&mut text, "Not possible here", prose::impossible(run), columns);
    section(&mut text, "What limits trust", prose::caveats(run), columns);
    text.push('\n');
    text.push_str(&wrap(&prose::course(run), "", columns));
    text
}

pub(crate) fn section(text: &mut String, title: &str, lines: Vec<String>, columns: u16) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    for line in lines {
        text.push_str(&wrap(&format!("- {line}"), "  ", columns));
    }
}

pub(crate) fn grid(table: &Table, columns: u16) -> String {
    lines(table, columns).trim_fmt().replace(NO_BREAK, " ")
}

/// As [`grid`], with the names in the first column kept whole.
pub(crate) fn named_grid(table: &Table, columns: u16) -> String {
    let mut grid = lines(table, columns);
    for (index, name) in table.header.iter().enumerate() {
        if let Some(column) = grid.column_mut(index)
            && (index == 0 || WHOLE.contains(&name.as_str()))
        {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    grid.trim_fmt().replace(NO_BREAK, " ")
}

fn lines(table: &Table, columns: u16) -> Grid {
    let mut grid = Grid::new();
    let lines = presets::UTF8_HORIZONTAL_ONLY
        .top_border(LineStyle::none())
        .row_separator(LineStyle::none())
        .bottom_border(LineStyle::none());
    grid.load_style(lines)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns)
        .set_header(table.header.clone())
        .add_rows(table.rows.clone());
    grid
}

/// Columns whose cells are not broken.
const WHOLE: [&str; 5] = ["arms", "published", "measured here", "ratio", "year"];

/// A space at which no cell is broken.
pub(crate) const NO_BREAK: &str = "\u{a0}";

/// Breaks a line at spaces; later lines begin with `indent`.
pub(crate) fn wrap(line: &str, indent: &str, columns: u16) -> String {
    let options =
        textwrap::Options::new(columns.into()).subsequent_indent(indent).break_words(false);
    textwrap::fill(line, options) + "\n"
}
