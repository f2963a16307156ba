//! Lines through points with intervals, on plain or logarithmic axes.

use super::canvas::{Anchor, Canvas, Mark, letters, line, marked, path, text, through};
use super::scale::{Scale, decades, names, ticks};

/// Lines over one pair of axes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    pub series: Vec<Series>,
    /// Title of the axis to the right, with its unit.
    pub across: String,
    /// Title of the axis upwards, with its unit.
    pub upwards: String,
    /// True if both axes are logarithmic; else they begin at 0.
    pub is_logarithmic: bool,
    /// The values that the axis to the right names, with their names; by default round ones.
    pub named: Vec<(f64, String)>,
}

/// A line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// The class that colours it.
    pub class: &'static str,
    /// True if it is no data but what data are to be compared with.
    pub is_ideal: bool,
}

/// A point.
#[derive(Debug, Clone, Default)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    /// The limits of its interval, where they say something.
    pub limits: Option<[f64; 2]>,
    pub words: String,
}

const HEIGHT: f64 = 260.0;

pub(crate) fn draw(lines: &Lines, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let mark = |index: usize, series: &Series| {
        if series.is_ideal { Mark::Dashes } else { Mark::of(index) }
    };
    let entries: Vec<(Mark, &str, &str)> = lines
        .series
        .iter()
        .enumerate()
        .map(|(index, series)| (mark(index, series), series.class, series.name.as_str()))
        .collect();
    canvas.legend(&entries);
    canvas.height += 6.0;
    canvas.note(&lines.upwards, "axis");
    canvas.height += 8.0;
    let values = Limits::of(lines);
    let up = match lines.is_logarithmic {
        true => decades(values.y),
        false => ticks(values.y, 5),
    };
    let up_names =
        if lines.is_logarithmic { up.iter().map(|it| plain(*it)).collect() } else { names(&up) };
    let margin = up_names.iter().map(|it| letters(it)).fold(14.0, f64::max) + 8.0;
    let [top, bottom] = [canvas.height, canvas.height + HEIGHT];
    let [left, right] = [margin, width - 24.0];
    let (x, y) = match lines.is_logarithmic {
        true => (
            Scale::logarithmic(values.x, [left + 8.0, right]),
            Scale::logarithmic(values.y, [bottom, top]),
        ),
        false => (Scale::linear(values.x, [left, right]), Scale::linear(values.y, [bottom, top])),
    };
    for (value, name) in up.iter().zip(&up_names) {
        let height = y.at(*value);
        canvas.add(line("grid", (left, height), (right, height)));
        canvas.add(text("tick", Anchor::End, left - 6.0, height + 4.0, name));
    }
    across(&mut canvas, lines, &x, values.x, bottom);
    canvas.add(line("frame", (left, bottom), (right, bottom)));
    for (index, series) in lines.series.iter().enumerate() {
        let class = if series.is_ideal { "curve dashed" } else { "curve" };
        // Points at the same place stand beside each other.
        let aside = if lines.is_logarithmic || series.is_ideal { 0.0 } else { index as f64 * 4.0 };
        let points = series.points.iter().map(|point| (x.at(point.x) - aside, y.at(point.y)));
        canvas.add(path(&format!("{class} {}", series.class), &through(points)));
        for point in series.points.iter().filter(|_| !series.is_ideal) {
            let (right, up) = (x.at(point.x) - aside, y.at(point.y));
            if let Some([low, high]) = point.limits {
                let [low, high] = [low, high].map(|it| y.at(it));
                canvas.add(line("whisker", (right, low), (right, high)));
                for end in [low, high] {
                    canvas.add(line("whisker", (right - 4.0, end), (right + 4.0, end)));
                }
            }
            canvas.add_tipped(
                marked(mark(index, series), series.class, right, up, 5.0),
                &point.words,
            );
        }
    }
    canvas.height = bottom + 22.0;
    canvas.note(&lines.across, "axis");
    canvas.height += 4.0;
    canvas
}

/// The axis to the right: as many names as have room.
fn across(canvas: &mut Canvas, lines: &Lines, x: &Scale, values: [f64; 2], bottom: f64) {
    let named = match lines.named.is_empty() {
        false => lines.named.clone(),
        true => {
            let values = ticks(values, if canvas.is_narrow() { 4 } else { 8 });
            let values: Vec<f64> = values.into_iter().filter(|it| it.fract() == 0.0).collect();
            let names = names(&values);
            values.into_iter().zip(names).collect()
        }
    };
    // Every name, every second one, and so on: as many as have room.
    let widest = named.iter().map(|it| letters(&it.1)).fold(0.0, f64::max) + 8.0;
    let nearest =
        named.windows(2).map(|it| x.at(it[1].0) - x.at(it[0].0)).fold(f64::INFINITY, f64::min);
    let every = (widest / nearest.max(1.0)).ceil().max(1.0) as usize;
    for (at, (value, name)) in named.iter().enumerate() {
        let (place, half) = (x.at(*value), letters(name) / 2.0);
        canvas.add(line("frame", (place, bottom), (place, bottom + 4.0)));
        // A name at the end would be cut off, and moved aside it could lie over the one before.
        if at % every == 0 && place + half <= canvas.width + 4.0 {
            canvas.add(text("tick", Anchor::Middle, place, bottom + 17.0, name));
        }
    }
}

/// Limits of the axes.
struct Limits {
    x: [f64; 2],
    y: [f64; 2],
}

impl Limits {
    fn of(lines: &Lines) -> Self {
        let points = || lines.series.iter().flat_map(|series| &series.points);
        let across = range(points().map(|point| point.x));
        let upwards =
            points().flat_map(|point| point.limits.into_iter().flatten().chain([point.y]));
        let upwards = range(upwards);
        match lines.is_logarithmic {
            true => Self { x: across, y: [(upwards[0] * 0.9).max(1e-30), upwards[1] * 1.1] },
            false => Self { x: [0.0, across[1].max(1.0)], y: [0.0, upwards[1].max(1e-30) * 1.04] },
        }
    }
}

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let finite = values.filter(|it| it.is_finite());
    let [low, high] = finite
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], it| [low.min(it), high.max(it)]);
    if low <= high { [low, high] } else { [0.0, 1.0] }
}

fn plain(value: f64) -> String {
    format!("{value}")
}
