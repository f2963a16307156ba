//! A table in the columns of a terminal: as a grid where it fits, closer together where it nearly fits, else a
//! paragraph for each row. No line is ever broken inside a number, or between a number and its unit.

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table as Grid, Width, presets};
use textwrap::WordSplitter;
use textwrap::core::display_width;

use crate::screen::in_a_row;
use crate::tables::Table;

/// A space at which no line is broken.
pub(crate) const NO_BREAK: &str = "\u{a0}";

/// Columns of studies whose cells are on one line if there is room for all of them.
const WHOLE: [&str; 4] = ["published", "measured here", "ratio", "year"];

/// The table for a terminal of this many columns.
pub(crate) fn grid(table: &Table, columns: u16) -> String {
    fitting(table, columns, &[])
}

/// As [`grid`], with the figures of studies on one line each where all of them fit.
pub(crate) fn named_grid(table: &Table, columns: u16) -> String {
    fitting(table, columns, &WHOLE)
}

/// The table with a line for each row. Where it does not fit, columns of `spare` are left out in their order, and then
/// cells of the columns of `cut` end early, but not before so many characters.
pub(crate) fn listing(
    table: &Table,
    columns: u16,
    spare: &[&str],
    cut: &[(&str, usize)],
) -> String {
    let mut table = table.plain();
    let least = |name: &str| cut.iter().find(|(of, _)| *of == name).map(|(_, least)| *least);
    let natural = |table: &Table| -> Vec<usize> {
        let cells = |index| table.rows.iter().filter_map(move |row| row.get(index));
        let all = |index| table.header.get(index).into_iter().chain(cells(index));
        (0..table.header.len())
            .map(|index| all(index).map(|it| display_width(it)).max().unwrap_or(0))
            .collect()
    };
    // A space on both sides of a cell, and one between columns.
    let room = |table: &Table| usize::from(columns).saturating_sub(3 * table.header.len());
    let narrow = |table: &Table| -> usize {
        let widths = natural(table).into_iter().zip(&table.header);
        widths.map(|(width, name)| least(name).map_or(width, |it| width.min(it))).sum()
    };
    for name in spare {
        if narrow(&table) <= room(&table) {
            break;
        }
        if let Some(index) = table.header.iter().position(|it| it == name) {
            table.header.remove(index);
            table.rows.iter_mut().for_each(|row| drop(row.remove(index)));
        }
    }
    let mut left = room(&table).saturating_sub(narrow(&table));
    let widths = natural(&table);
    let index = |name: &str| table.header.iter().position(|it| it == name);
    let mut cut: Vec<(usize, usize)> = cut
        .iter()
        .filter_map(|(name, least)| {
            let index = index(name)?;
            Some((index, widths[index].min(*least)))
        })
        .collect();
    // A character for each in turn.
    while left > 0 && cut.iter().any(|(index, width)| *width < widths[*index]) {
        for (index, width) in &mut cut {
            if left > 0 && *width < widths[*index] {
                (*width, left) = (*width + 1, left - 1);
            }
        }
    }
    for (index, width) in cut {
        for row in &mut table.rows {
            row[index] = in_a_row(&row[index], width);
        }
    }
    grid(&table, columns)
}

fn fitting(table: &Table, columns: u16, whole: &[&str]) -> String {
    let table = &glued(&table.plain());
    let spacious = (1, whole);
    let tight = (0, &[][..]);
    let grids = [spacious, (1, &[]), tight];
    let fits = |text: &String| text.lines().all(|line| width(line) <= usize::from(columns));
    let found =
        grids.into_iter().map(|(before, whole)| drawn(table, columns, before, whole)).find(fits);
    found.unwrap_or_else(|| paragraphs(table, columns)).replace(NO_BREAK, " ")
}

/// The columns that a line of a grid takes; the line below the header is as wide as the table.
fn width(line: &str) -> usize {
    if line.starts_with('═') { line.chars().count() } else { display_width(line) }
}

/// A grid that breaks lines at spaces only: rather than cut a name or a number it is wider. `before` spaces
/// stand before each cell, one after it.
fn drawn(table: &Table, columns: u16, before: u16, whole: &[&str]) -> String {
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
    for (index, name) in table.header.iter().enumerate() {
        let least = longest_word(table, index) + usize::from(before) + 1;
        if let Some(column) = grid.column_mut(index) {
            column.set_padding((before, 1));
            column.set_constraint(match whole.contains(&name.as_str()) {
                true => ColumnConstraint::ContentWidth,
                false => ColumnConstraint::LowerBoundary(Width::Fixed(
                    u16::try_from(least).unwrap_or(u16::MAX),
                )),
            });
        }
    }
    grid.trim_fmt()
}

/// The width of the widest part of a column's cells that is not broken, its header's included.
fn longest_word(table: &Table, index: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.get(index));
    let cells = cells.chain(table.header.get(index));
    cells.flat_map(|cell| cell.split(' ')).map(display_width).max().unwrap_or(0)
}

/// A paragraph for each row: its first cell, then a line for each other one, after its column's name.
fn paragraphs(table: &Table, columns: u16) -> String {
    let names = || table.header.iter().skip(1).map(|name| display_width(name));
    let widest = names().max().unwrap_or(0).min(usize::from(columns) / 3);
    let mut paragraphs = Vec::new();
    for row in &table.rows {
        let mut lines: Vec<String> = row
            .first()
            .filter(|it| !it.is_empty())
            .map(|it| filled(it, "", columns))
            .into_iter()
            .collect();
        for (name, cell) in table.header.iter().zip(row).skip(1).filter(|(_, it)| !it.is_empty()) {
            let name = name.replace(' ', NO_BREAK);
            let indent = " ".repeat(widest + 4);
            let line = format!(
                "  {name}{}{cell}",
                " ".repeat((widest + 2).saturating_sub(display_width(&name)).max(2))
            );
            lines.push(filled(&line, &indent, columns));
        }
        paragraphs.push(lines.join("\n"));
    }
    paragraphs.join("\n\n")
}

/// Breaks a line at spaces, but neither inside a number nor between a number and its unit; later lines begin
/// with `indent`.
pub(crate) fn filled(line: &str, indent: &str, columns: u16) -> String {
    let options = textwrap::Options::new(columns.into())
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(line, options)
}

fn glued(table: &Table) -> Table {
    let row = |row: &Vec<String>| row.iter().map(|cell| glue(cell)).collect();
    Table { header: table.header.clone(), rows: table.rows.iter().map(row).collect() }
}

/// The text with no line break between a number and its unit, and between a sign and its number.
pub fn glue(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut glued = String::with_capacity(text.len());
    for (index, word) in words.iter().enumerate() {
        glued.push_str(word);
        if let Some(next) = words.get(index + 1) {
            let before = index.checked_sub(1).map_or("", |before| words[before]);
            let belongs = (is_sign(word) && is_number(next))
                || (is_number(word) && (is_unit(next) || is_prefix(next)))
                || (is_number(before) && is_prefix(word) && is_name(next));
            glued.push_str(if belongs { NO_BREAK } else { " " });
        }
    }
    glued
}

/// Lines of at most so many characters, broken neither inside a number nor between a number and its unit.
pub fn lines(text: &str, columns: usize) -> Vec<String> {
    let columns = u16::try_from(columns).unwrap_or(u16::MAX).max(1);
    filled(&glue(text), "", columns).lines().map(|it| it.replace(NO_BREAK, " ")).collect()
}

fn is_number(word: &str) -> bool {
    let digits = word.trim_start_matches(['(', '[', '+', '-', '±', '=', '~']);
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.ends_with(|last: char| last.is_ascii_digit())
}

fn is_sign(word: &str) -> bool {
    matches!(word.trim_start_matches('('), "±" | "=" | "<" | ">" | "≥" | "≤" | "*")
}

/// A prefix that stands before a unit of several words: `103 M bytes/s`.
fn is_prefix(word: &str) -> bool {
    matches!(word, "k" | "M" | "G" | "T")
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first.is_ascii_digit())
}

fn is_unit(word: &str) -> bool {
    const UNITS: &str = "% s ms µs us ns ps fs J mJ µJ nJ pJ W Hz kHz MHz GHz B KB MB GB TB kB KiB MiB GiB TiB \
                         cycles ns/load GB/s MB/s KB/s B/s";
    let unit = word.trim_end_matches([')', ']', ',', ';', '.', ':']);
    !unit.is_empty() && (UNITS.split(' ').any(|known| known == unit) || unit.ends_with("/s"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(header: &[&str], rows: &[&[&str]]) -> Table {
        let row = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        Table {
            header: header.iter().map(|&name| name.to_owned()).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn a_number_stays_with_its_unit_and_its_sign() {
        for whole in [
            "51.1 ms ± 0.08 %",
            "1.03 (± 4.2 %)",
            "about 103 M bytes/s",
            "= 1.032 s, of 2 MiB",
            "> 1000 %",
            "(18.4 s)",
        ] {
            let glued = glue(whole);
            assert_eq!(glued.replace(NO_BREAK, " "), whole);
            let parts: Vec<&str> = glued.split(' ').collect();
            let is_alone = |part: &str| {
                !part.contains(NO_BREAK) && (is_unit(part) || is_sign(part) || is_prefix(part))
            };
            assert!(!parts.iter().any(|part| is_alone(part)), "{parts:?}");
        }
        assert_eq!(glue("2 cores of 4, 1.2 to 1.4"), "2 cores of 4, 1.2 to 1.4");
    }

    #[test]
    fn a_table_is_a_grid_while_it_fits_and_then_paragraphs() {
        let arms = table(
            &["arm", "workers", "CPUs", "time", "runs/s", "to spread", "noise floor"],
            &[
                &["spread", "2", "0-1", "322 ms ± 8.6 %", "3.11", "-", "5.3 %"],
                &["stacked", "4", "0-1 (2 each)", "642 ms ± 4.7 %", "6.23", "2.003", "13 %"],
            ],
        );
        let shown = [100, 60, 40].map(|columns| grid(&arms, columns));
        insta::assert_snapshot!(shown.join("\n\n"), @r"
         arm       workers   CPUs           time             runs/s   to spread   noise floor
        ══════════════════════════════════════════════════════════════════════════════════════
         spread    2         0-1            322 ms ± 8.6 %   3.11     -           5.3 %
         stacked   4         0-1 (2 each)   642 ms ± 4.7 %   6.23     2.003       13 %

        arm      workers  CPUs     time     runs/s  to      noise
                                                    spread  floor
        ════════════════════════════════════════════════════════════
        spread   2        0-1      322 ms   3.11    -       5.3 %
                                   ± 8.6 %
        stacked  4        0-1 (2   642 ms   6.23    2.003   13 %
                          each)    ± 4.7 %

        spread
          workers      2
          CPUs         0-1
          time         322 ms ± 8.6 %
          runs/s       3.11
          to spread    -
          noise floor  5.3 %

        stacked
          workers      4
          CPUs         0-1 (2 each)
          time         642 ms ± 4.7 %
          runs/s       6.23
          to spread    2.003
          noise floor  13 %
        ");
    }

    #[test]
    fn a_listing_has_a_line_for_each_row_however_long_its_cells_are() {
        let runs = table(
            &["run", "host", "workload", "answer"],
            &[
                &[
                    "3f2a9c1b",
                    "a-node",
                    "./solver --size=large FILE",
                    "SMT helps: with 2 workers a core does more work.",
                ],
                &["5e7280f0", "a-node", "x", "Short."],
            ],
        );
        let of = |columns| listing(&runs, columns, &["host"], &[("answer", 12), ("workload", 8)]);
        for columns in [40, 50, 60, 80, 120] {
            let shown = of(columns);
            assert_eq!(shown.lines().count(), 4, "{columns}:\n{shown}");
            assert!(shown.lines().all(|line| width(line) <= columns.into()), "{shown}");
        }
        assert!(of(120).contains("a-node") && of(120).contains("more work."), "{}", of(120));
        assert!(!of(42).contains("a-node") && of(42).contains("SMT helps ..."), "{}", of(42));
    }

    /// Words that tables are made of.
    const WORDS: [&str; 12] = [
        "free@2C",
        "/",
        "two-jobs-multitasking-gain",
        "36.5 s ± 1.0 %",
        "1.03",
        "= 1.032",
        "1.22 to 1.26",
        "103 M bytes/s",
        "published",
        "no practical effect",
        "0-1 (2 each)",
        "",
    ];

    proptest! {
        #[test]
        fn every_table_fits_and_no_number_is_broken(
            header in prop::collection::vec(0..WORDS.len(), 2..9),
            cells in prop::collection::vec(prop::collection::vec(0..WORDS.len(), 1..4), 1..40),
        ) {
            let header: Vec<String> = header.into_iter().map(|it| WORDS[it].to_owned()).collect();
            let text = |cell: &Vec<usize>| cell.iter().map(|it| WORDS[*it]).collect::<Vec<_>>().join(" ");
            let rows = cells.chunks_exact(header.len());
            let rows: Vec<Vec<String>> = rows.map(|row| row.iter().map(text).collect()).collect();
            let table = Table { header, rows };
            for columns in [60, 80, 120] {
                for shown in [grid(&table, columns), named_grid(&table, columns)] {
                    for line in shown.lines() {
                        prop_assert!(width(line) <= columns.into(), "{columns}:\n{shown}");
                    }
                    for part in table.rows.iter().flatten().flat_map(|it| glue(it).split(' ').map(str::to_owned).collect::<Vec<_>>()) {
                        let part = part.replace(NO_BREAK, " ");
                        prop_assert!(shown.contains(&part), "{part} at {columns}:\n{shown}");
                    }
                }
            }
        }
    }
}
