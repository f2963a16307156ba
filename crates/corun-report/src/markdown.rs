//! A run as Markdown, for a ticket or a wiki page.

use comfy_table::{Table as Grid, presets};
use corun_record::Run;

use crate::grid::NO_BREAK;
use crate::prose;
use crate::tables::{self, Table};

/// The run as Markdown.
pub fn to_markdown(run: &Run) -> String {
    let mut heading = prose::heading(run).into_iter().map(|line| literal(&line));
    let mut text = format!("# {}\n\n", heading.next().unwrap_or_default());
    for (_, answer) in prose::answers(run) {
        text.push_str(&format!("**{answer}**\n\n"));
    }
    heading.for_each(|line| text.push_str(&format!("{line}\n\n")));
    if run.is_partial() && !run.is_without_interval() {
        text.push_str("Partial result: the experiment was cut short.\n\n");
    }
    let details = [tables::details(run), tables::comparisons(run), tables::latencies(run)];
    for table in [tables::arms(run)].into_iter().chain(details) {
        if !table.rows.is_empty() {
            text.push_str(&grid(&table));
            text.push_str("\n\n");
        }
    }
    for (title, lines) in [
        ("Not possible here", prose::not_possible(run)),
        ("What limits trust", prose::caveats(run)),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("## {title}\n\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
            text.push('\n');
        }
    }
    text.push_str(&prose::course(run));
    text.push('\n');
    text
}

/// The text with everything escaped that Markdown would take for markup.
pub(crate) fn literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_[]<>#|~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

pub(crate) fn grid(table: &Table) -> String {
    let table = table.plain();
    let cell = |text: &String| text.replace('|', "\\|");
    let mut grid = Grid::new();
    grid.load_style(presets::ASCII_MARKDOWN)
        .set_header(table.header.clone())
        .add_rows(table.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>()));
    grid.to_string().replace(NO_BREAK, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_typed_is_no_markup() {
        assert_eq!(literal("a `b` *c* <d> \\"), "a \\`b\\` \\*c\\* \\<d\\> \\\\");
    }
}
