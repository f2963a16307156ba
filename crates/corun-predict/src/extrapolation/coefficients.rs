//! What an instruction, a misprediction and a miss cost in a program, as its windows teach.

use corun_sim::{EventCounts, Piece, SimulatedWindow};
use nalgebra::{DMatrix, DVector};

use super::sample::Sample;

/// So many pieces of windows for each figure whose price is asked.
const PIECES_PER_COEFFICIENT: usize = 10;
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
    /// By how many the coefficients, which fit the windows, make their residuals too small.
    pub(super) freedom_lost: usize,
    /// Which of them were learned, if any was.
    is_used: Option<[bool; FIGURES]>,
}

impl Coefficients {
    /// Those that fit the windows best (least squares, each window as often as it counts) of those with which nothing
    /// saves time; none if there are too few windows to tell, or nothing else was recorded.
    ///
    /// What seems to save time came along with something else in these windows, and in the rest of the run need not.
    pub(super) fn fit(run: &Sample<'_>) -> Option<Self> {
        let pieces = pieces(&run.windows);
        if pieces.len() < PIECES_PER_COEFFICIENT * FIGURES || run.recorded <= run.instructions {
            return None;
        }
        let mut is_used = comparable(run);
        loop {
            let (each, rank) = fitting(&pieces, is_used)?;
            let is_paid = |at: &usize| is_used[*at] && each[*at] < 0.0;
            // By what it takes off all pieces together.
            let taken_off = |at: &usize| each[*at] * sum(&pieces, *at);
            let least = (1..FIGURES)
                .filter(is_paid)
                .min_by(|one, other| taken_off(one).total_cmp(&taken_off(other)));
            let Some(least) = least else {
                // Of the freedom that pieces lose, windows lose their part.
                let freedom_lost = (rank * run.windows.len()).div_ceil(pieces.len());
                return Some(Self { each, freedom_lost, is_used: Some(is_used) });
            };
            is_used[least] = false;
        }
    }

    /// Every instruction takes as long.
    pub(super) fn of_instructions(rate: f64, windows: &[SimulatedWindow]) -> Self {
        let mut each = DVector::zeros(FIGURES);
        each[0] = rate;
        Self { each, freedom_lost: windows.len().min(1), is_used: None }
    }

    /// Cycles of each window besides its price, by coefficients that the other windows teach: a few windows bend coefficients their
    /// way, and one that stands for most of the run does so alone. None if nothing was learned, or others teach nothing.
    fn unexplained_by_others(&self, run: &Sample<'_>) -> Option<Vec<f64>> {
        let is_used = self.is_used.filter(|_| run.windows.len() > 1)?;
        let unexplained = |at: usize| {
            let others = [&run.windows[..at], &run.windows[at + 1..]].concat();
            let (each, _) = fitting(&pieces(&others), is_used)?;
            let (window, _) = run.windows[at];
            Some(window.cycles as f64 - Self { each, ..*self }.of(&window.noticed))
        };
        (0..run.windows.len()).map(unexplained).collect()
    }

    /// Of the mean of what they leave unexplained. Where windows were chosen, what others teach of one may be worse than
    /// nothing; then their cycles alone tell.
    pub(super) fn variance_left(&self, run: &Sample<'_>) -> f64 {
        let unexplained = |it: &SimulatedWindow| it.cycles as f64 - self.of(&it.noticed);
        match run.is_chosen.then(|| self.unexplained_by_others(run)).flatten() {
            Some(by_others) => {
                let of_cycles = run.variance(&run.each(|it| it.cycles as f64), 1);
                run.variance(&by_others, 1).min(of_cycles)
            }
            None => run.variance(&run.each(unexplained), self.freedom_lost),
        }
    }

    pub(super) fn of(&self, noticed: &EventCounts) -> f64 {
        self.each
            .iter()
            .zip(figures(noticed))
            .map(|(coefficient, figure)| coefficient * figure)
            .sum()
    }
}

/// The pieces of windows, each with how many times it counts.
fn pieces<'a>(windows: &[(&'a SimulatedWindow, f64)]) -> Vec<(&'a Piece, f64)> {
    let pieces = windows
        .iter()
        .flat_map(|(window, times)| window.pieces.iter().map(|piece| (piece, *times)));
    pieces.collect()
}

/// The coefficients of what is_used that fit these pieces best, each of which counts so many times, and how many of them are
/// independent.
fn fitting(pieces: &[(&Piece, f64)], is_used: [bool; FIGURES]) -> Option<(DVector<f64>, usize)> {
    if pieces.is_empty() {
        return None;
    }
    let rows = pieces.iter().flat_map(|(piece, times)| {
        let noticed = figures(&piece.noticed).into_iter().zip(is_used);
        noticed.map(|(figure, is_used)| if is_used { figure * times.sqrt() } else { 0.0 })
    });
    let mut noticed = DMatrix::from_row_iterator(pieces.len(), FIGURES, rows);
    let cycles = pieces.iter().map(|(piece, times)| piece.cycles as f64 * times.sqrt());
    let cycles = DVector::from_iterator(pieces.len(), cycles);
    // In units of their own, so that what is rare weighs no less.
    let units: Vec<f64> = noticed.column_iter().map(|column| column.norm().max(1.0)).collect();
    for (mut column, unit) in noticed.column_iter_mut().zip(&units) {
        column /= *unit;
    }
    let parts = noticed.svd(true, true);
    let weakest = WEAKEST * parts.singular_values.max();
    let mut each = parts.solve(&cycles, weakest).ok()?;
    for ((coefficient, unit), is_used) in each.iter_mut().zip(&units).zip(is_used) {
        *coefficient = if is_used { *coefficient / unit } else { 0.0 };
    }
    each.iter().all(|coefficient| coefficient.is_finite()).then_some((each, parts.rank(weakest)))
}

/// Of a figure in all pieces.
fn sum(pieces: &[(&Piece, f64)], at: usize) -> f64 {
    pieces.iter().map(|(piece, times)| times * figures(&piece.noticed)[at]).sum()
}

/// Of each figure, whether windows notice it as the warm-ups before them do, on average over all. What they notice
/// otherwise, such as misses that prefetchers are in time for only while nothing is timed, is_used of the pipeline and
/// not of the program.
fn comparable(run: &Sample<'_>) -> [bool; FIGURES] {
    let difference = |it: &SimulatedWindow, at: usize| {
        let (own, both) = (figures(&it.noticed), figures(&it.with_warm_up));
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
fn figures(noticed: &EventCounts) -> [f64; FIGURES] {
    let requests = &noticed.requests;
    [
        noticed.instructions,
        noticed.mispredicts,
        requests.l1d_misses,
        requests.l2_misses,
        requests.main,
    ]
    .map(|count| count as f64)
}
