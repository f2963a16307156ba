//! What an instruction, a misprediction and a miss cost in a program, as its windows teach.

use corun_sim::{EventCounts, Piece, SimulatedWindow};
use nalgebra::{DMatrix, DVector};

use super::sample::Sample;

/// So many pieces of windows for each figure whose price is asked.
const PIECES_A_PRICE: usize = 10;
/// Figures that have a price.
const FIGURES: usize = 5;
/// Standard errors by which windows and warm-ups may differ, and be of the same program all the same.
const DEVIATIONS: f64 = 3.0;
/// Directions of what was noticed that are this much weaker than the strongest one tell nothing.
const WEAKEST: f64 = 1e-9;

/// Cycles of an instruction, a misprediction, a miss, ...
#[derive(Debug)]
pub(super) struct Coefficients {
    pub(super) each: DVector<f64>,
    /// By how many the prices, which fit the windows, make their residuals too small.
    pub(super) freedom_lost: usize,
    /// Which of them were learned, if any was.
    tells: Option<[bool; FIGURES]>,
}

impl Coefficients {
    /// Those that fit the windows best (least squares, each window as often as it counts) of those with which nothing
    /// saves time; none if there are too few windows to tell, or nothing else was recorded.
    ///
    /// What seems to save time came along with something else in these windows, and in the rest of the run need not.
    pub(super) fn learned(run: &Sample<'_>) -> Option<Self> {
        let pieces = pieces(&run.windows);
        if pieces.len() < PIECES_A_PRICE * FIGURES || run.recorded <= run.instructions {
            return None;
        }
        let mut tells = comparable(run);
        loop {
            let (each, rank) = fitting(&pieces, tells)?;
            let is_paid = |at: &usize| tells[*at] && each[*at] < 0.0;
            // By what it takes off all pieces together.
            let taken_off = |at: &usize| each[*at] * sum(&pieces, *at);
            let least = (1..FIGURES)
                .filter(is_paid)
                .min_by(|one, other| taken_off(one).total_cmp(&taken_off(other)));
            let Some(least) = least else {
                // Of the freedom that pieces lose, windows lose their part.
                let freedom_lost = (rank * run.windows.len()).div_ceil(pieces.len());
                return Some(Self { each, freedom_lost, tells: Some(tells) });
            };
            tells[least] = false;
        }
    }

    /// Every instruction takes as long.
    pub(super) fn of_instructions(rate: f64, windows: &[SimulatedWindow]) -> Self {
        let mut each = DVector::zeros(FIGURES);
        each[0] = rate;
        Self { each, freedom_lost: windows.len().min(1), tells: None }
    }

    /// Cycles of each window besides its price, by prices that the other windows teach: a few windows bend prices their
    /// way, and one that stands for most of the run does so alone. None if nothing was learned, or others teach nothing.
    fn unexplained_by_others(&self, run: &Sample<'_>) -> Option<Vec<f64>> {
        let tells = self.tells.filter(|_| run.windows.len() > 1)?;
        let unexplained = |at: usize| {
            let others = [&run.windows[..at], &run.windows[at + 1..]].concat();
            let (each, _) = fitting(&pieces(&others), tells)?;
            let (window, _) = run.windows[at];
            Some(window.cycles as f64 - Self { each, ..*self }.of(&window.events))
        };
        (0..run.windows.len()).map(unexplained).collect()
    }

    /// Of the mean of what they leave unexplained. Where windows were chosen, what others teach of one may be worse than
    /// nothing; then their cycles alone tell.
    pub(super) fn variance_left(&self, run: &Sample<'_>) -> f64 {
        let unexplained = |it: &SimulatedWindow| it.cycles as f64 - self.of(&it.events);
        match run.is_chosen.then(|| self.unexplained_by_others(run)).flatten() {
            Some(by_others) => {
                let unpriced = run.variance(&run.each(|it| it.cycles as f64), 1);
                run.variance(&by_others, 1).min(unpriced)
            }
            None => run.variance(&run.each(unexplained), self.freedom_lost),
        }
    }

    pub(super) fn of(&self, events: &EventCounts) -> f64 {
        self.each.iter().zip(figures(events)).map(|(price, figure)| price * figure).sum()
    }
}

/// The pieces of windows, each with how many times it counts.
fn pieces<'a>(windows: &[(&'a SimulatedWindow, f64)]) -> Vec<(&'a Piece, f64)> {
    let pieces = windows
        .iter()
        .flat_map(|(window, times)| window.pieces.iter().map(|piece| (piece, *times)));
    pieces.collect()
}

/// The prices of what tells that fit these pieces best, each of which counts so many times, and how many of them are
/// independent.
fn fitting(pieces: &[(&Piece, f64)], tells: [bool; FIGURES]) -> Option<(DVector<f64>, usize)> {
    if pieces.is_empty() {
        return None;
    }
    let rows = pieces.iter().flat_map(|(piece, times)| {
        let events = figures(&piece.events).into_iter().zip(tells);
        events.map(|(figure, tells)| if tells { figure * times.sqrt() } else { 0.0 })
    });
    let mut events = DMatrix::from_row_iterator(pieces.len(), FIGURES, rows);
    let cycles = pieces.iter().map(|(piece, times)| piece.cycles as f64 * times.sqrt());
    let cycles = DVector::from_iterator(pieces.len(), cycles);
    // In units of their own, so that what is rare weighs no less.
    let units: Vec<f64> = events.column_iter().map(|column| column.norm().max(1.0)).collect();
    for (mut column, unit) in events.column_iter_mut().zip(&units) {
        column /= *unit;
    }
    let parts = events.svd(true, true);
    let weakest = WEAKEST * parts.singular_values.max();
    let mut each = parts.solve(&cycles, weakest).ok()?;
    for ((price, unit), tells) in each.iter_mut().zip(&units).zip(tells) {
        *price = if tells { *price / unit } else { 0.0 };
    }
    each.iter().all(|price| price.is_finite()).then_some((each, parts.rank(weakest)))
}

/// Of a figure in all pieces.
fn sum(pieces: &[(&Piece, f64)], at: usize) -> f64 {
    pieces.iter().map(|(piece, times)| times * figures(&piece.events)[at]).sum()
}

/// Of each figure, whether windows notice it as the warm-ups before them do, on average over all. What they notice
/// otherwise, such as misses that prefetchers are in time for only while nothing is timed, tells of the pipeline and
/// not of the program.
fn comparable(run: &Sample<'_>) -> [bool; FIGURES] {
    let difference = |it: &SimulatedWindow, at: usize| {
        let (own, both) = (figures(&it.events), figures(&it.events_with_warm_up));
        let warm_up = both[0] - own[0];
        // For as many instructions as the window has.
        if warm_up > 0.0 { own[at] - (both[at] - own[at]) * own[0] / warm_up } else { 0.0 }
    };
    std::array::from_fn(|at| {
        let of = |it: &SimulatedWindow| difference(it, at);
        at == 0 || run.mean(of).abs() <= DEVIATIONS * run.variance(&run.each(of), 1).sqrt()
    })
}

/// What has a price, instructions first. Lines of code and walks have none: of the first the pipeline asks for more,
/// since prediction is ahead of it, and of the others it begins some twice.
fn figures(events: &EventCounts) -> [f64; FIGURES] {
    let requests = &events.requests;
    [
        events.instructions,
        events.mispredicts,
        requests.l1d_misses,
        requests.l2_misses,
        requests.main,
    ]
    .map(|count| count as f64)
}
