//! Horizontal bars from 0, each with its interval, and a dot for each sample below it.

use corun_report::parts::lines;

use super::canvas::{
    Anchor, Canvas, Mark, dots, fitted, letters, line, marked, rect, text, tipped,
};
use super::scale::{Scale, names, ticks};

/// Bars over one axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bars {
    pub rows: Vec<Bar>,
    /// Title of the axis, with its unit.
    pub axis: String,
    /// A value that the bars are to be compared with, and its name.
    pub reference: Option<(f64, String)>,
}

/// A bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bar {
    /// Label of the row.
    pub label: String,
    /// More of what it is of, in small letters.
    pub remark: String,
    /// Length of the bar; absent for a row that has none.
    pub value: Option<f64>,
    /// The limits of its interval, where they say something.
    pub limits: Option<[f64; 2]>,
    /// Samples: their values, and words for each.
    pub dots: Vec<(f64, String)>,
    /// The value as text.
    pub figure: String,
    /// The class that colours it.
    pub class: &'static str,
    /// True if it belongs to the bar above it.
    pub is_joined: bool,
}

/// The part of the width that labels take at most.
const MAX_LABEL: f64 = 0.42;
const BAR: f64 = 16.0;
/// Room for dots below a bar.
const DOTS: f64 = 14.0;
const GAP: f64 = 16.0;
const JOINED_GAP: f64 = 4.0;
const LINE: f64 = 16.0;

pub(crate) fn draw(bars: &Bars, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let is_narrow = canvas.is_narrow();
    let widest =
        |of: fn(&Bar) -> &str| bars.rows.iter().map(|row| letters(of(row))).fold(0.0, f64::max);
    let label = widest(|row| &row.label).max(widest(|row| &row.remark) * 0.93);
    let (left, right) = match is_narrow {
        true => (2.0, width - 10.0),
        false => (
            label.clamp(40.0, MAX_LABEL * width) + 12.0,
            width - widest(|row| &row.figure).clamp(20.0, MAX_LABEL * width) - 12.0,
        ),
    };
    let scale = Scale::linear([0.0, longest(bars)], [left, right]);
    let mut top = if bars.reference.is_some() { 22.0 } else { 6.0 };
    let first = top;
    let mut shapes = Vec::new();
    for row in &bars.rows {
        // A bar that belongs to the one above stands close to it.
        if row.is_joined {
            top -= GAP - JOINED_GAP;
        }
        top = draw_row(row, &scale, (left, width), top, is_narrow, &mut shapes);
    }
    let marks = ticks([0.0, longest(bars)], if is_narrow { 3 } else { 6 });
    for (value, name) in marks.iter().zip(names(&marks)) {
        let x = scale.at(*value);
        canvas.add(line("grid", (x, first - 4.0), (x, top)));
        let anchor = match x + letters(&name) / 2.0 {
            end if end > width => Anchor::End,
            _ if x - left < 4.0 => Anchor::Start,
            _ => Anchor::Middle,
        };
        canvas.add(text("tick", anchor, x, top + 14.0, &name));
    }
    shapes.into_iter().for_each(|shape| canvas.add(shape));
    if let Some((value, name)) = &bars.reference {
        let x = scale.at(*value);
        canvas.add(line("reference", (x, first - 6.0), (x, top)));
        let anchor = match x + letters(name) / 2.0 {
            end if end > width => Anchor::End,
            _ if x < letters(name) / 2.0 => Anchor::Start,
            _ => Anchor::Middle,
        };
        canvas.add(text("tick", anchor, x, first - 9.0, name));
    }
    canvas.height = top + 18.0;
    let columns = ((width - left) / 6.5).max(20.0) as usize;
    for axis in lines(&bars.axis, columns) {
        canvas.height += LINE;
        canvas.add(text("axis", Anchor::Start, left, canvas.height - 3.0, &axis));
    }
    canvas.height += 4.0;
    canvas
}

fn draw_row(
    row: &Bar,
    scale: &Scale,
    (left, width): (f64, f64),
    top: f64,
    is_narrow: bool,
    shapes: &mut Vec<svg::node::element::Element>,
) -> f64 {
    let mut top = top;
    if is_narrow {
        let room = width - letters(&row.figure) - 12.0;
        shapes.push(text("label", Anchor::Start, left, top + 12.0, &fitted(&row.label, room)));
        shapes.push(text("label", Anchor::End, width - 2.0, top + 12.0, &row.figure));
        top += LINE + 2.0;
        if !row.remark.is_empty() {
            shapes.push(text("tick", Anchor::Start, left, top + 10.0, &fitted(&row.remark, width)));
            top += LINE - 1.0;
        }
    } else {
        let base = if row.remark.is_empty() { top + 12.5 } else { top + 9.0 };
        shapes.push(text("label", Anchor::End, left - 8.0, base, &fitted(&row.label, left - 8.0)));
        if !row.remark.is_empty() {
            let remark = fitted(&row.remark, (left - 8.0) / 0.93);
            shapes.push(text("tick", Anchor::End, left - 8.0, top + 23.0, &remark));
        }
        let begin = scale_end(scale) + 10.0;
        let figure = fitted(&row.figure, width - begin);
        shapes.push(text("label", Anchor::Start, begin, top + 12.5, &figure));
    }
    let middle = top + BAR / 2.0;
    if let Some(value) = row.value {
        let bar = rect(&format!("bar {}", row.class), left, top, scale.at(value) - left, BAR);
        shapes.push(tipped(bar, &format!("{}: {}", row.label, row.figure)));
    }
    if let Some([low, high]) = row.limits {
        let [low, high] = [low, high].map(|it| scale.at(it));
        shapes.push(line("whisker", (low, middle), (high, middle)));
        for end in [low, high] {
            shapes.push(line("whisker", (end, middle - 5.0), (end, middle + 5.0)));
        }
    }
    if !row.dots.is_empty() {
        // Deterministic, so that the same document is the same picture.
        let place = |(index, value): (usize, f64)| {
            let down = (index as f64 * 0.618_034).fract() * (DOTS - 6.0);
            (scale.at(value), top + BAR + 4.0 + down)
        };
        match is_narrow {
            true => {
                let values = row.dots.iter().map(|dot| dot.0).enumerate().map(place);
                shapes.push(dots(&format!("dots {}", row.class), values));
            }
            false => {
                for (index, (value, words)) in row.dots.iter().enumerate() {
                    let (x, y) = place((index, *value));
                    let dot = marked(Mark::Circle, &format!("dot {}", row.class), x, y, 2.4);
                    shapes.push(tipped(dot, words));
                }
            }
        }
        top += DOTS;
    }
    top + BAR + GAP
}

fn scale_end(scale: &Scale) -> f64 {
    scale.at(f64::MAX)
}

/// The largest of all that is drawn.
fn longest(bars: &Bars) -> f64 {
    let of_row = |row: &Bar| {
        let limits = row.limits.into_iter().flatten();
        limits.chain(row.value).chain(row.dots.iter().map(|dot| dot.0)).fold(0.0, f64::max)
    };
    let reference = bars.reference.iter().map(|it| it.0);
    let longest = bars.rows.iter().map(of_row).chain(reference).fold(0.0, f64::max);
    if longest.is_finite() && longest > 0.0 { longest } else { 1.0 }
}
