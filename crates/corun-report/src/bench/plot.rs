//! A plot for the terminal, both axes logarithmic: sizes to the right, what they cost upwards.
//!
//! Lines are distinguished by the letter at their points, so that no colour is needed.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::symbols::Marker;
use ratatui_core::widgets::Widget;
use ratatui_widgets::canvas::{Canvas, Context, Line as Stroke};

use crate::figures::size_text;

/// Rows of the drawing, without its axes.
const HEIGHT: u16 = 14;
/// Columns to its left, for the figures of the axis.
const MARGIN: u16 = 8;
/// It does not get wider than this.
const WIDEST: u16 = 110;

/// Some lines in one picture.
pub(super) struct Plot<'a> {
    pub title: &'a str,
    pub lines: Vec<Line>,
}

/// One line.
pub(super) struct Line {
    pub name: String,
    /// Bytes and a figure, both above 0, in order.
    pub points: Vec<(f64, f64)>,
}

/// The plot as text.
pub(super) fn draw(plot: &Plot, columns: u16) -> String {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let Some(across) = bounds(points().map(|point| point.0.log2())) else { return String::new() };
    let Some(upwards) = bounds(points().map(|point| point.1.log10())) else {
        return String::new();
    };
    let width = columns.min(WIDEST).saturating_sub(MARGIN + 4).max(20);
    let canvas = Rect::new(MARGIN, 0, width, HEIGHT);
    let mut buffer = Buffer::empty(Rect::new(0, 0, MARGIN + width + 4, HEIGHT + 2));
    strokes(plot, across, upwards).render(canvas, &mut buffer);
    figures_upwards(&mut buffer, upwards);
    figures_across(&mut buffer, width, across);
    let legend: Vec<String> = plot
        .lines
        .iter()
        .zip(letters())
        .map(|(line, letter)| format!("{letter} {}", line.name))
        .collect();
    format!("{} ({})\n{}", plot.title, legend.join(", "), text(&buffer))
}

fn letters() -> impl Iterator<Item = char> {
    'a'..='z'
}

/// The least and the most, a little apart.
fn bounds(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let finite = values.filter(|value| value.is_finite());
    let [low, high] = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
        [low.min(value), high.max(value)]
    });
    let pad = ((high - low) * 0.03).max(0.02);
    (low <= high).then_some([low - pad, high + pad])
}

fn strokes<'a>(
    plot: &'a Plot,
    across: [f64; 2],
    upwards: [f64; 2],
) -> Canvas<'a, impl Fn(&mut Context<'_>) + 'a> {
    Canvas::default().marker(Marker::Braille).x_bounds(across).y_bounds(upwards).paint(
        move |context| {
            for line in &plot.lines {
                for (from, to) in line.points.iter().zip(line.points.iter().skip(1)) {
                    context.draw(&Stroke {
                        x1: from.0.log2(),
                        y1: from.1.log10(),
                        x2: to.0.log2(),
                        y2: to.1.log10(),
                        color: Color::Reset,
                    });
                }
            }
            context.layer();
            for (line, letter) in plot.lines.iter().zip(letters()) {
                for point in &line.points {
                    context.print(point.0.log2(), point.1.log10(), letter.to_string());
                }
            }
        },
    )
}

/// 1, 2 and 5 times each power of ten, as far as they fall on rows of their own.
fn figures_upwards(buffer: &mut Buffer, [low, high]: [f64; 2]) {
    let mut taken = None;
    for exponent in low.floor() as i32..=high.ceil() as i32 {
        for mantissa in [1.0, 2.0, 5.0] {
            let figure = mantissa * 10_f64.powi(exponent);
            let height = (figure.log10() - low) / (high - low);
            if !(0.0..=1.0).contains(&height) {
                continue;
            }
            let row = ((1.0 - height) * f64::from(HEIGHT - 1)).round() as u16;
            if taken == Some(row) {
                continue;
            }
            taken = Some(row);
            let width = usize::from(MARGIN) - 2;
            buffer.set_string(0, row, format!("{figure:>width$} ┤"), Color::Reset);
        }
    }
    for row in 0..HEIGHT {
        if buffer[(MARGIN - 1, row)].symbol() == " " {
            buffer.set_string(MARGIN - 1, row, "│", Color::Reset);
        }
    }
}

/// Powers of two, as many as there is room for.
fn figures_across(buffer: &mut Buffer, width: u16, [low, high]: [f64; 2]) {
    buffer.set_string(MARGIN - 1, HEIGHT, "└", Color::Reset);
    for column in 0..width {
        buffer.set_string(MARGIN + column, HEIGHT, "─", Color::Reset);
    }
    let mut free_from = 0;
    for exponent in low.ceil().max(0.0) as u32..=high.floor().max(0.0) as u32 {
        let place = (f64::from(exponent) - low) / (high - low);
        let column = MARGIN + (place * f64::from(width - 1)).round() as u16;
        let label = size_text(1 << exponent);
        let begin = column.saturating_sub(label.len() as u16 / 2);
        if begin < free_from || begin + label.len() as u16 > MARGIN + width + 4 {
            continue;
        }
        buffer.set_string(column, HEIGHT, "┬", Color::Reset);
        buffer.set_string(begin, HEIGHT + 1, &label, Color::Reset);
        free_from = begin + label.len() as u16 + 2;
    }
}

fn text(buffer: &Buffer) -> String {
    let row = |row: u16| {
        let cells = (0..buffer.area.width).map(|column| buffer[(column, row)].symbol());
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    (0..buffer.area.height).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gives_no_picture() {
        assert_eq!(draw(&Plot { title: "none", lines: Vec::new() }, 80), "");
        let line = Line { name: "odd".into(), points: vec![(1.0, f64::NAN)] };
        assert_eq!(draw(&Plot { title: "none", lines: vec![line] }, 80), "");
    }

    #[test]
    fn lines_rise_where_figures_do() {
        let steps = |factor: f64| {
            let sizes = (12..=28).map(|exponent| f64::from(1 << exponent));
            let cost = move |size: f64| match size {
                ..=32768.0 => 1.0,
                ..=1048576.0 => 4.0,
                ..=33554432.0 => 15.0,
                _ => 90.0,
            };
            sizes.map(move |size| (size, factor * cost(size))).collect()
        };
        let lines = vec![
            Line { name: "stride 64 B".into(), points: steps(1.0) },
            Line { name: "stride 4 KiB".into(), points: steps(1.7) },
        ];
        insta::assert_snapshot!(draw(&Plot { title: "latency, ns a load", lines }, 72), @r"
        latency, ns a load (a stride 64 B, b stride 4 KiB)
               │                                                  b⡤⠤b⠤⠤⠤b⠄
           100 ┤                                                  a⣀⣀a⣀⣀⣀a⡀
               │                                                 ⢰⢱⠁
            50 ┤                                                ⢠⢣⠃
               │                                b   b  b   b  b⢀⠎⡎
            20 ┤                                 ⡜⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⡜
               │                                a⡠⠤⠤a⠤⠤a⠤⠤⠤a⠤⠤a⠴⠁
            10 ┤               b   b  b   b  b ⡜⡰⠁
               │               ⢠⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠜⡰⠁
             5 ┤              ⢠a⣀⣀⣀a⣀⣀a⣀⣀⣀a⣀⣀a⡰⠁
               │             ⢠⢃⠎
             2 ┤ b   b  b   b⢃⠎
               │ a⠉⠉⠉a⠉⠉a⠉⠉⠉a⠎
             1 ┤ ⠐⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠊
               └──┬─────────┬──────────┬─────────┬──────┬─────────┬─────────
                4 KiB    32 KiB     256 KiB    2 MiB  8 MiB    64 MiB
        ");
    }
}
