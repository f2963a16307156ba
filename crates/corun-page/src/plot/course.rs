//! Evidence beside each sample, in the order in which they ran: panels above each other over one axis.

use super::canvas::{Anchor, Canvas, Mark, letters, line, marked, text};
use super::scale::{Scale, names, ticks};

/// Panels over one axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Course {
    pub panels: Vec<Panel>,
    /// The arms: their colours and names.
    pub series: Vec<(&'static str, String)>,
    /// Title of the axis to the right.
    pub across: String,
}

/// A panel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panel {
    /// Title, with its unit.
    pub title: String,
    pub points: Vec<Reading>,
}

/// A point of a panel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    /// The place in the order of the run.
    pub place: f64,
    pub value: f64,
    /// The arm, by its place in the series.
    pub series: usize,
    pub words: String,
}

const HEIGHT: f64 = 64.0;

pub(crate) fn draw(course: &Course, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let entries: Vec<_> = course
        .series
        .iter()
        .enumerate()
        .map(|(index, (class, name))| (Mark::of(index), *class, name.as_str()))
        .collect();
    canvas.legend(&entries);
    let last =
        course.panels.iter().flat_map(|it| &it.points).map(|it| it.place).fold(1.0, f64::max);
    let (left, right) = (54.0, width - 12.0);
    let x = Scale::linear([0.0, last], [left + 6.0, right]);
    for panel in &course.panels {
        canvas.height += 8.0;
        canvas.note(&panel.title, "axis");
        let [top, bottom] = [canvas.height + 6.0, canvas.height + 6.0 + HEIGHT];
        let values = panel.points.iter().map(|it| it.value).filter(|it| it.is_finite());
        let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], it| {
            [low.min(it), high.max(it)]
        });
        // A panel whose values are all alike has a flat line in its middle, and one from 0 begins there.
        let [low, high] = match low <= high {
            true if low == 0.0 && high == 0.0 => [0.0, 1.0],
            true if low >= 0.0 && low < 0.5 * high => [0.0, high],
            true if high - low < 1e-9 => {
                [low - 0.5 * low.abs().max(1.0), high + 0.5 * high.abs().max(1.0)]
            }
            true => [low - 0.1 * (high - low), high + 0.1 * (high - low)],
            false => [0.0, 1.0],
        };
        let y = Scale::linear([low, high], [bottom, top]);
        let marks = ticks([low, high], 3);
        for (value, name) in marks.iter().zip(names(&marks)) {
            let height = y.at(*value);
            canvas.add(line("grid", (left, height), (right, height)));
            canvas.add(text("tick", Anchor::End, left - 6.0, height + 4.0, &name));
        }
        for reading in &panel.points {
            let class = course.series.get(reading.series).map_or("c1", |it| it.0);
            let shape = marked(
                Mark::of(reading.series),
                class,
                x.at(reading.place),
                y.at(reading.value),
                3.4,
            );
            canvas.add_tipped(shape, &reading.words);
        }
        canvas.height = bottom + 4.0;
    }
    let bottom = canvas.height;
    canvas.add(line("frame", (left, bottom), (right, bottom)));
    let marks = ticks([0.0, last], if canvas.is_narrow() { 4 } else { 8 });
    let marks: Vec<f64> = marks.into_iter().filter(|it| it.fract() == 0.0).collect();
    for (value, name) in marks.iter().zip(names(&marks)) {
        let place = x.at(*value);
        let anchor =
            if place + letters(&name) / 2.0 > width { Anchor::End } else { Anchor::Middle };
        canvas.add(line("frame", (place, bottom), (place, bottom + 4.0)));
        canvas.add(text("tick", anchor, place, bottom + 17.0, &name));
    }
    canvas.height = bottom + 22.0;
    canvas.note(&course.across, "axis");
    canvas.height += 4.0;
    canvas
}
