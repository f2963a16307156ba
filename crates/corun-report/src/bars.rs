//! Horizontal bars with intervals, for a terminal of any width.
//!
//! A bar is full up to the lower limit and shaded up to the upper one, so that the eye sees which overlap.

use textwrap::core::display_width;

/// A row of a bar chart.
pub(crate) struct Bar {
    /// Label of the bar.
    pub label: String,
    /// Value with the limits of its interval; limits that say nothing are absent.
    pub value: f64,
    /// The lower and upper limit.
    pub limits: Option<[f64; 2]>,
    /// Texts after the bar, a column each.
    pub columns: Vec<String>,
}

/// Bars are not longer than this.
const MAX_LENGTH: usize = 40;
/// Nor shorter, as long as the texts leave room.
const MIN_LENGTH: usize = 4;
/// Spaces between columns.
const GAP: usize = 2;

/// The bars, one a line, with headings of the columns after them.
pub(crate) fn bars(rows: &[Bar], headings: &[&str], columns: u16) -> String {
    let label = rows.iter().map(|row| display_width(&row.label)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..headings.len())
        .map(|index| {
            let cells = rows.iter().filter_map(|row| row.columns.get(index));
            let widest = cells.map(|cell| display_width(cell)).max().unwrap_or(0);
            widest.max(display_width(headings[index]))
        })
        .collect();
    let texts: usize = widths.iter().map(|width| width + GAP).sum();
    let room = usize::from(columns).saturating_sub(1 + label + GAP + texts);
    let length = room.clamp(MIN_LENGTH, MAX_LENGTH);
    let longest = rows.iter().map(|row| row.value).fold(0.0, f64::max);
    let mut text = String::new();
    let mut line = |label_text: &str, bar: String, cells: Vec<&str>| {
        text.push_str(&format!(" {}", left(label_text, label)));
        text.push_str(&format!("{:GAP$}{bar:length$}", ""));
        for (cell, &width) in cells.iter().zip(&widths) {
            text.push_str(&format!("{:GAP$}{}", "", left(cell, width)));
        }
        let end = text.trim_end_matches(' ').len();
        text.truncate(end);
        text.push('\n');
    };
    line("", String::new(), headings.to_vec());
    for row in rows {
        let cells = row.columns.iter().map(String::as_str).collect();
        line(&row.label, drawn(row, longest, length), cells);
    }
    text
}

fn left(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(display_width(text)))
}

/// A bar of at most `length` characters, where the longest value takes them all.
fn drawn(row: &Bar, longest: f64, length: usize) -> String {
    let place = |value: f64| {
        let share = if longest > 0.0 { (value / longest).clamp(0.0, 1.0) } else { 0.0 };
        (share * length as f64).round() as usize
    };
    let [low, high] = row.limits.unwrap_or([row.value; 2]).map(place);
    format!("{}{}", "█".repeat(low), "░".repeat(high.saturating_sub(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Bar> {
        let bar = |label: &str, value, limits| Bar {
            label: label.to_owned(),
            value,
            limits,
            columns: vec![format!("{value:.2}")],
        };
        vec![
            bar("spread@1", 0.5, Some([0.45, 0.55])),
            bar("full", 1.0, None),
            bar("free@4", 0.9, Some([0.7, 1.2])),
        ]
    }

    #[test]
    fn overlapping_intervals_are_seen() {
        let text = bars(&rows(), &["to best"], 40);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                " spread@1  █████████░░           0.50",
                " full      ████████████████████  1.00",
                " free@4    ██████████████░░░░░░  0.90",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for columns in [30, 60, 80, 200] {
            let text = bars(&rows(), &["to best"], columns);
            assert!(text.lines().all(|it| it.chars().count() <= usize::from(columns)), "{text}");
        }
    }
}
