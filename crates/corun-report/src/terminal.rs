//! A run for the terminal.

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table as Grid, Width, presets};
use corun_record::Run;
use textwrap::core::display_width;

use crate::prose;
use crate::tables::{self, Table};

/// The run as text for a terminal of this many columns.
pub fn to_terminal(run: &Run, columns: u16) -> String {
    let mut text = prose::heading(run).join("\n");
    text.push_str("\n\n");
    if run.is_partial() && !run.is_without_interval() {
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
    section(&mut text, "Not possible here", prose::not_possible(run), columns);
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

/// As [`grid`], with the figures of studies on one line each where all of them fit.
pub(crate) fn named_grid(table: &Table, columns: u16) -> String {
    let is_whole = |index: usize| WHOLE.contains(&table.header[index].as_str());
    let least = |index: usize| match is_whole(index) {
        true => widest(table, index, |cell| vec![cell]),
        false => longest_word(table, index),
    };
    let all: usize = (0..table.header.len()).map(|index| least(index) + BETWEEN).sum();
    let mut grid = lines(table, columns);
    if all <= usize::from(columns) {
        for index in (0..table.header.len()).filter(|&index| is_whole(index)) {
            if let Some(column) = grid.column_mut(index) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    grid.trim_fmt().replace(NO_BREAK, " ")
}

/// A grid that breaks lines at spaces only: rather than cut a name or a number it is wider.
fn lines(table: &Table, columns: u16) -> Grid {
    let table = &table.plain();
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
    for index in 0..table.header.len() {
        let least = longest_word(table, index) + PADDING;
        if let Some(column) = grid.column_mut(index) {
            let least = Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX));
            column.set_constraint(ColumnConstraint::LowerBoundary(least));
        }
    }
    grid
}

fn longest_word(table: &Table, index: usize) -> usize {
    widest(table, index, |cell| cell.split(' ').collect())
}

/// The width of the widest part of a column's cells, its header's included.
fn widest(table: &Table, index: usize, parts: fn(&str) -> Vec<&str>) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.get(index));
    let cells = cells.chain(table.header.get(index));
    cells.flat_map(|cell| parts(cell)).map(display_width).max().unwrap_or(0)
}

/// The spaces around a cell.
const PADDING: usize = 2;
/// These, and what stands between two columns.
const BETWEEN: usize = PADDING + 1;
/// Columns whose cells are on one line if there is room for all of them.
const WHOLE: [&str; 4] = ["published", "measured here", "ratio", "year"];

/// A space at which no cell is broken.
pub(crate) const NO_BREAK: &str = "\u{a0}";

/// Breaks a line at spaces; later lines begin with `indent`.
pub(crate) fn wrap(line: &str, indent: &str, columns: u16) -> String {
    let options =
        textwrap::Options::new(columns.into()).subsequent_indent(indent).break_words(false);
    textwrap::fill(line, options) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_breaks_within_a_word() {
        let words =
            ["two-jobs-multitasking-gain", "multitasking gain", "free@2C / free@2C/smt-off"];
        let mut row: Vec<String> = words.map(str::to_owned).to_vec();
        row.extend(["= 1.032", "36.5 s ± 1.0 %", "published five on four"].map(str::to_owned));
        let header = ["figure", "metric", "arms", "published", "measured here", "notes"];
        let table = Table { header: header.map(str::to_owned).to_vec(), rows: vec![row] };
        for columns in [40, 60, 80, 100, 200] {
            for text in [grid(&table, columns), named_grid(&table, columns)] {
                for word in table.rows[0].iter().chain(&table.header).flat_map(|it| it.split(' ')) {
                    assert!(text.contains(word), "{word} at {columns}:\n{text}");
                }
            }
        }
    }
}
