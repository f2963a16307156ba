//! Who ran where: a line for each logical CPU, siblings together, a colour for each task.

use super::canvas::{Anchor, Canvas, letters, line, rect, text};
use super::scale::{Scale, names, ticks};

/// A timeline of logical CPUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gantt {
    /// The logical CPUs of each core.
    pub cores: Vec<Vec<Lane>>,
    /// The end of the axis, and what it counts.
    pub end: f64,
    pub across: String,
}

/// A logical CPU.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lane {
    pub label: String,
    pub times: Vec<Busy>,
}

/// A time in which a task ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy {
    pub begin: f64,
    pub end: f64,
    /// The task, by number.
    pub task: u64,
    pub words: String,
}

const LANE: f64 = 16.0;
const GAP: f64 = 6.0;

pub(crate) fn draw(gantt: &Gantt, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let lanes = || gantt.cores.iter().flatten();
    let left = lanes().map(|lane| letters(&lane.label)).fold(20.0, f64::max) + 8.0;
    let scale = Scale::linear([0.0, gantt.end], [left, width - 12.0]);
    let mut top = 4.0;
    for core in &gantt.cores {
        for lane in core {
            canvas.add(text("tick", Anchor::End, left - 6.0, top + 11.5, &lane.label));
            canvas.add(rect("unused", left, top, width - 12.0 - left, LANE - 2.0));
            for busy in &lane.times {
                let [begin, end] = [busy.begin, busy.end].map(|it| scale.at(it));
                let class = format!("busy t{}", busy.task % 8);
                let shape = rect(&class, begin, top, end - begin, LANE - 2.0);
                canvas.add_tipped(shape, &busy.words);
            }
            top += LANE;
        }
        top += GAP;
    }
    canvas.add(line("frame", (left, top), (width - 12.0, top)));
    let marks = ticks([0.0, gantt.end], if canvas.is_narrow() { 3 } else { 8 });
    for (value, name) in marks.iter().zip(names(&marks)) {
        canvas.add(line("frame", (scale.at(*value), top), (scale.at(*value), top + 4.0)));
        canvas.add(text("tick", Anchor::Middle, scale.at(*value), top + 17.0, &name));
    }
    canvas.height = top + 22.0;
    canvas.note(&gantt.across, "axis");
    canvas.height += 4.0;
    canvas
}
