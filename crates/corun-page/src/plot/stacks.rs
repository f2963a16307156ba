//! Bars that are divided: where cycles go, by cause, and who had a CPU's time.

use corun_report::parts::lines;

use super::canvas::{Anchor, Canvas, Mark, letters, rect, text};

/// Bars of equal length, each divided into shares.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stacks {
    pub rows: Vec<Stack>,
    /// Title of a whole bar.
    pub axis: String,
    /// The classes of the parts with what they mean, in order.
    pub legend: Vec<(&'static str, String)>,
}

/// A divided bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stack {
    pub label: String,
    pub parts: Vec<Part>,
    /// Text after the bar.
    pub figure: String,
}

/// A part of a bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    pub name: String,
    /// Share of the bar, from 0 to 1.
    pub share: f64,
    pub class: &'static str,
}

const BAR: f64 = 34.0;
const GAP: f64 = 12.0;
/// Height of a line of names below a bar.
const LINE: f64 = 15.0;
/// A part with less is too small to be named.
const MIN_NAMED: f64 = 0.005;

pub(crate) fn draw(stacks: &Stacks, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let entries: Vec<(Mark, &str, &str)> =
        stacks.legend.iter().map(|(class, name)| (Mark::Square, *class, name.as_str())).collect();
    canvas.legend(&entries);
    canvas.height += 4.0;
    let is_narrow = canvas.is_narrow();
    let widest =
        |of: fn(&Stack) -> &str| stacks.rows.iter().map(|row| letters(of(row))).fold(0.0, f64::max);
    let (left, right) = match is_narrow {
        true => (2.0, width - 4.0),
        false => {
            let figures = widest(|row| &row.figure);
            let figures = if figures > 0.0 { figures.min(0.25 * width) + 12.0 } else { 2.0 };
            (widest(|row| &row.label).clamp(40.0, 0.3 * width) + 12.0, width - figures)
        }
    };
    for row in &stacks.rows {
        let mut top = canvas.height;
        if is_narrow {
            canvas.add(text("label", Anchor::Start, left, top + 12.0, &row.label));
            canvas.add(text("label", Anchor::End, right, top + 12.0, &row.figure));
            top += 18.0;
        } else {
            canvas.add(text("label", Anchor::End, left - 8.0, top + BAR / 2.0 + 4.5, &row.label));
            canvas.add(text(
                "label",
                Anchor::Start,
                right + 8.0,
                top + BAR / 2.0 + 4.5,
                &row.figure,
            ));
        }
        let without_name = draw_parts(&mut canvas, row, [left, right], top);
        canvas.height = top + BAR;
        for line in lines(&without_name, ((right - left) / 6.5) as usize) {
            canvas.height += LINE;
            canvas.add(text("tick", Anchor::Start, left, canvas.height - 2.0, &line));
        }
        canvas.height += GAP;
    }
    canvas.note(&stacks.axis, "axis");
    canvas.height += 4.0;
    canvas
}

/// Draws the parts of a bar, and returns the names and shares of those that are too narrow for their name.
fn draw_parts(canvas: &mut Canvas, row: &Stack, [left, right]: [f64; 2], top: f64) -> String {
    let mut begin = left;
    let mut without_name = Vec::new();
    for part in &row.parts {
        let share = if part.share.is_finite() { part.share.clamp(0.0, 1.0) } else { 0.0 };
        let length = (share * (right - left)).min(right - begin);
        let words = format!("{}: {}", part.name, corun_stats::percent(part.share));
        let shape = rect(&format!("part {}", part.class), begin, top, length, BAR);
        canvas.add_tipped(shape, &words);
        let middle = begin + length / 2.0;
        let figure = corun_stats::percent(part.share);
        if letters(&part.name).max(letters(&figure)) * 0.95 + 6.0 < length {
            canvas.add(text("inside", Anchor::Middle, middle, top + 14.0, &part.name));
            canvas.add(text("inside", Anchor::Middle, middle, top + 28.0, &figure));
        } else {
            if letters(&figure) * 0.95 + 6.0 < length {
                canvas.add(text("inside", Anchor::Middle, middle, top + 21.0, &figure));
            }
            if share >= MIN_NAMED {
                without_name.push(format!("{} {figure}", part.name));
            }
        }
        begin += length;
    }
    without_name.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_its_name_in_it_or_below_the_bar() {
        let part = |name: &str, share| Part { name: name.to_owned(), share, class: "c1" };
        let parts = vec![
            part("mispredict", 0.5),
            part("L2", 0.041),
            part("front end", 0.06),
            part("store queue", 0.001),
            part("retiring", 0.398),
        ];
        let row = Stack { label: "alone".to_owned(), parts, figure: String::new() };
        let mut canvas = Canvas::new(720.0);
        let below = draw_parts(&mut canvas, &row, [120.0, 610.0], 0.0);
        assert_eq!(below, "L2 4.1 %, front end 6.0 %");
        let drawn = canvas.content();
        assert!(drawn.contains(">mispredict<") && drawn.contains(">retiring<"), "{drawn}");
        // Neither is wider than its part.
        assert!(!drawn.contains(">L2<") && !drawn.contains(">4.1 %<"), "{drawn}");
    }
}
