//! Which logical CPUs the workers of each arm ran on, siblings together in their core.

use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Anchor, Canvas, Mark, letters, rect, text};

/// Arms over the same cores.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// The logical CPUs of each core.
    pub cores: Vec<Vec<u32>>,
    pub rows: Vec<PlacedArm>,
}

/// An arm on its CPUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlacedArm {
    pub label: String,
    /// Number of workers of each CPU.
    pub workers: BTreeMap<u32, u32>,
    /// Siblings that are to stay idle.
    pub idle: BTreeSet<u32>,
    /// Number of workers that the kernel places.
    pub free: Option<u32>,
}

/// State of a logical CPU in an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Worker,
    Idle,
    Unused,
    Open,
}

impl State {
    fn class(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Idle => "idle",
            Self::Unused => "unused",
            Self::Open => "open",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Worker => "a worker, or so many",
            Self::Idle => "a sibling that stays idle",
            Self::Unused => "not used",
            Self::Open => "the kernel may choose it",
        }
    }
}

impl PlacedArm {
    /// True if it is no arm but a machine on which nothing runs.
    fn is_machine(&self) -> bool {
        self.workers.is_empty() && self.idle.is_empty() && self.free.is_none()
    }

    fn state(&self, cpu: u32) -> State {
        match (self.workers.contains_key(&cpu), self.idle.contains(&cpu)) {
            (true, _) => State::Worker,
            (false, true) => State::Idle,
            (false, false) if self.free.is_some() => State::Open,
            (false, false) => State::Unused,
        }
    }
}

const CELL: [f64; 2] = [7.0, 26.0];
const GAP: f64 = 6.0;

pub(crate) fn draw(places: &Places, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let widest = places.rows.iter().map(|row| letters(&row.label)).fold(0.0, f64::max);
    let left = if canvas.is_narrow() { 2.0 } else { widest.clamp(40.0, 0.3 * width) + 12.0 };
    let cpus: usize = places.cores.iter().map(Vec::len).sum();
    let gaps = GAP * places.cores.len() as f64;
    let cell = ((width - left - gaps) / cpus.max(1) as f64).clamp(CELL[0], CELL[1]);
    let all: Vec<u32> = places.cores.iter().flatten().copied().collect();
    let has =
        |state: State| places.rows.iter().any(|row| all.iter().any(|cpu| row.state(*cpu) == state));
    let legend = [State::Worker, State::Idle, State::Unused, State::Open].into_iter();
    let legend = legend.filter(|state| has(*state));
    let legend: Vec<_> =
        legend.map(|state| (Mark::Square, state.class(), state.meaning())).collect();
    if !places.rows.iter().all(PlacedArm::is_machine) {
        canvas.legend(&legend);
    }
    canvas.height += 4.0;
    let mut is_first = true;
    for row in &places.rows {
        let mut top = canvas.height;
        if canvas.is_narrow() {
            canvas.add(text("label", Anchor::Start, left, top + 12.0, &row.label));
            top += 18.0;
        } else {
            let numbers = if is_first { 16.0 } else { 0.0 };
            let base = top + numbers + cell / 2.0 + 7.0;
            canvas.add(text("label", Anchor::End, left - 8.0, base, &row.label));
        }
        let has_numbers = is_first || canvas.is_narrow();
        canvas.height = draw_row(&mut canvas, places, row, [left, cell], top, has_numbers);
        if let Some(workers) = row.free {
            let workers =
                if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
            let words = format!("{workers}, wherever the kernel puts them");
            canvas.add(text("tick", Anchor::Start, left, canvas.height + 4.0, &words));
            canvas.height += 16.0;
        }
        is_first = false;
    }
    canvas.note(
        "Each box is a core, each square in it a logical CPU with the kernel's number.",
        "axis",
    );
    canvas.height += 4.0;
    canvas
}

fn draw_row(
    canvas: &mut Canvas,
    places: &Places,
    row: &PlacedArm,
    [left, cell]: [f64; 2],
    top: f64,
    has_numbers: bool,
) -> f64 {
    let mut top = top + if has_numbers { 16.0 } else { 0.0 };
    let mut x = left;
    for core in &places.cores {
        let length = core.len() as f64 * cell + GAP - 2.0;
        if x > left && x + length > canvas.width {
            (x, top) = (left, top + cell + 8.0 + if has_numbers { 16.0 } else { 0.0 });
        }
        canvas.add(rect("core", x, top, length, cell + 4.0));
        for (at, cpu) in core.iter().enumerate() {
            let state = row.state(*cpu);
            let (words, figure) = match row.workers.get(cpu) {
                Some(1) => ("a worker".to_owned(), String::new()),
                Some(many) => (format!("{many} workers"), many.to_string()),
                None => (state.meaning().to_owned(), String::new()),
            };
            let words = match row.is_machine() {
                true => format!("CPU {cpu}"),
                false => format!("CPU {cpu}: {words}"),
            };
            let place = x + 2.0 + at as f64 * cell;
            let shape =
                rect(&format!("cpu {}", state.class()), place + 1.0, top + 2.0, cell - 2.0, cell);
            canvas.add_tipped(shape, &words);
            if letters(&figure) < cell {
                let base = top + cell / 2.0 + 6.0;
                canvas.add(text("inside", Anchor::Middle, place + cell / 2.0, base, &figure));
            }
            if has_numbers && letters(&cpu.to_string()) < cell {
                let number = cpu.to_string();
                canvas.add(text("tick", Anchor::Middle, place + cell / 2.0, top - 4.0, &number));
            }
        }
        x += length + 2.0;
    }
    top + cell + 12.0
}
