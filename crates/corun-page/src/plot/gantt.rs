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
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Busy {
    pub begin: f64,
    pub end: f64,
    /// The task, by number.
    pub task: u64,
    pub words: String,
}

/// Piece of a lane: one task for a visible time, or the shares of several that took turns.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Task(&'a Busy, [f64; 2]),
    Turns { place: [f64; 2], shares: Vec<(u64, f64)> },
}

/// Turns that are narrower, in pixels, make stripes in which nobody sees a task: their shares are drawn.
const NARROW: f64 = 5.0;
/// Width of a place in which shares are drawn, at most.
const PLACE: f64 = 20.0;

/// Overlap of neighbouring places.
const SEAM: f64 = 0.4;

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
            for piece in pieces(&lane.times, |at| scale.at(at)) {
                draw_piece(&mut canvas, &piece, top);
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

/// The times of a lane: as they are where each can be seen, and of those that take turns their shares, place by place.
fn pieces(times: &[Busy], at: impl Fn(f64) -> f64) -> Vec<Piece<'_>> {
    let is_seen = |it: &Busy| at(it.end) - at(it.begin) > NARROW;
    let mut pieces = Vec::new();
    for run in times.chunk_by(|one, other| is_seen(one) == is_seen(other)) {
        match run {
            [first, _, .., last] if !is_seen(first) => {
                pieces.extend(places(run, [at(first.begin), at(last.end)], &at));
            }
            _ => pieces.extend(run.iter().map(|it| Piece::Task(it, [at(it.begin), at(it.end)]))),
        }
    }
    pieces
}

/// Shares of the tasks in places of equal width, in the same order everywhere, so that a task is a band.
fn places<'a>(turns: &[Busy], [begin, end]: [f64; 2], at: impl Fn(f64) -> f64) -> Vec<Piece<'a>> {
    let count = ((end - begin) / PLACE).ceil().max(1.0);
    let place = |index: f64| begin + (end - begin) * index / count;
    (0..count as usize)
        .map(|index| {
            let [low, high] = [place(index as f64), place(index as f64 + 1.0)];
            let mut shares: Vec<(u64, f64)> = Vec::new();
            for busy in turns {
                let time = at(busy.end).min(high) - at(busy.begin).max(low);
                if time <= 0.0 {
                    continue;
                }
                match shares.iter_mut().find(|(task, _)| *task == busy.task) {
                    Some((_, of)) => *of += time,
                    None => shares.push((busy.task, time)),
                }
            }
            shares.sort_by_key(|(task, _)| *task);
            Piece::Turns { place: [low, high], shares }
        })
        .collect()
}

fn draw_piece(canvas: &mut Canvas, piece: &Piece<'_>, top: f64) {
    let height = LANE - 2.0;
    match piece {
        Piece::Task(busy, [begin, end]) => {
            let class = format!("busy t{}", busy.task % 8);
            canvas.add_tipped(rect(&class, *begin, top, end - begin, height), &busy.words);
        }
        Piece::Turns { place: [begin, end], shares } => {
            let all: f64 = shares.iter().map(|(_, time)| time).sum();
            let names: Vec<String> = shares.iter().map(|(task, _)| task.to_string()).collect();
            let words = format!("tasks {} in turns", names.join(", "));
            let mut base = top;
            for (task, time) in shares {
                let part = height * time / all.max(f64::MIN_POSITIVE);
                let class = format!("turns t{}", task % 8);
                // Neighbours overlap, so that no gap shines through between them.
                canvas.add_tipped(rect(&class, *begin, base, end - begin + SEAM, part), &words);
                base += part;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(task: u64, begin: f64, end: f64) -> Busy {
        Busy { begin, end, task, words: String::new() }
    }

    #[test]
    fn turns_that_nobody_sees_become_shares() {
        let turns: Vec<Busy> = (0..100)
            .map(|at| busy(at % 2, f64::from(at as u32), f64::from(at as u32) + 1.0))
            .chain([busy(3, 100.0, 160.0)])
            .collect();
        let found = pieces(&turns, |at| at);
        assert_eq!(found.len(), 6, "{found:?}");
        for piece in &found[..5] {
            let Piece::Turns { place, shares } = piece else { panic!("{found:?}") };
            assert_eq!(place[1] - place[0], 20.0);
            assert_eq!(shares, &[(0, 10.0), (1, 10.0)]);
        }
        assert!(matches!(found.last(), Some(Piece::Task(it, _)) if it.task == 3), "{found:?}");
        // The same turns in a picture that is wide enough.
        let seen = pieces(&turns, |at| 10.0 * at);
        assert!(seen.iter().all(|it| matches!(it, Piece::Task(..))) && seen.len() == 101);
    }
}
