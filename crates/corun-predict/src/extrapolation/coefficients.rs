//! Regression coefficients: the cycles per instruction, misprediction and miss of a program, from its windows.

use corun_sim::{EventCounts, Piece, SimulatedWindow};
use nalgebra::{DMatrix, DVector};

use super::sample::Sample;

/// The least number of pieces of windows per regressor.
const PIECES_PER_COEFFICIENT: usize = 10;
/// The number of regressors.
const REGRESSORS: usize = 5;
/// Standard errors by which the event rates of windows and warm-ups may differ.
const DEVIATIONS: f64 = 3.0;
/// Singular values below this share of the largest one are taken as zero.
const WEAKEST: f64 = 1e-9;

/// The coefficients: cycles per instruction, per misprediction, per miss.
#[derive(Debug)]
pub(super) struct Coefficients {
    pub(super) each: DVector<f64>,
    /// The degrees of freedom that the regression uses up.
    pub(super) freedom_lost: usize,
    /// The regressors that were fitted; none for a ratio estimate.
    is_used: Option<[bool; REGRESSORS]>,
}

impl Coefficients {
    /// Fits the coefficients by least squares, with each window's weight, and drops regressors until none is negative.
    /// None if there are too few pieces, or nothing was recorded besides the windows.
    ///
    /// A negative coefficient shows a correlation with another event in these windows that need not hold in the run.
    pub(super) fn fit(run: &Sample<'_>) -> Option<Self> {
        let pieces = pieces(&run.windows);
        if pieces.len() < PIECES_PER_COEFFICIENT * REGRESSORS || run.recorded <= run.instructions {
            return None;
        }
        let mut is_used = comparable(run);
        loop {
            let (each, rank) = fitting(&pieces, is_used)?;
            let is_negative = |at: &usize| is_used[*at] && each[*at] < 0.0;
            // The cycles that it subtracts over all pieces.
            let cycles_saved = |at: &usize| each[*at] * sum(&pieces, *at);
            let least = (1..REGRESSORS)
                .filter(is_negative)
                .min_by(|one, other| cycles_saved(one).total_cmp(&cycles_saved(other)));
            let Some(least) = least else {
                // The degrees of freedom lost by pieces, converted to windows.
                let freedom_lost = (rank * run.windows.len()).div_ceil(pieces.len());
                return Some(Self { each, freedom_lost, is_used: Some(is_used) });
            };
            is_used[least] = false;
        }
    }

    /// A ratio estimate: the same cycles for every instruction.
    pub(super) fn of_instructions(rate: f64, windows: &[SimulatedWindow]) -> Self {
        let mut each = DVector::zeros(REGRESSORS);
        each[0] = rate;
        Self { each, freedom_lost: windows.len().min(1), is_used: None }
    }

    /// The residual of each window from a regression over the other windows: with few windows a regression follows each of
    /// them, above all one of high weight. None for a ratio estimate, or if the other windows determine no coefficients.
    fn unexplained_by_others(&self, run: &Sample<'_>) -> Option<Vec<f64>> {
        let is_used = self.is_used.filter(|_| run.windows.len() > 1)?;
        let unexplained = |at: usize| {
            let others = [&run.windows[..at], &run.windows[at + 1..]].concat();
            let (each, _) = fitting(&pieces(&others), is_used)?;
            let (window, _) = run.windows[at];
            Some(window.cycles as f64 - Self { each, ..*self }.of(&window.events))
        };
        (0..run.windows.len()).map(unexplained).collect()
    }

    /// The variance of the mean residual. For simulation points, the variance without a regression is taken where
    /// leave-one-out residuals have a larger one.
    pub(super) fn variance_left(&self, run: &Sample<'_>) -> f64 {
        let unexplained = |it: &SimulatedWindow| it.cycles as f64 - self.of(&it.events);
        match run.is_chosen.then(|| self.unexplained_by_others(run)).flatten() {
            Some(by_others) => {
                let of_cycles = run.variance(&run.each(|it| it.cycles as f64), 1);
                run.variance(&by_others, 1).min(of_cycles)
            }
            None => run.variance(&run.each(unexplained), self.freedom_lost),
        }
    }

    pub(super) fn of(&self, events: &EventCounts) -> f64 {
        self.each
            .iter()
            .zip(regressors(events))
            .map(|(coefficient, value)| coefficient * value)
            .sum()
    }
}

/// The pieces of windows, each with its window's weight.
fn pieces<'a>(windows: &[(&'a SimulatedWindow, f64)]) -> Vec<(&'a Piece, f64)> {
    let pieces = windows
        .iter()
        .flat_map(|(window, times)| window.pieces.iter().map(|piece| (piece, *times)));
    pieces.collect()
}

/// The least-squares coefficients of the used regressors over weighted pieces, and their rank.
fn fitting(pieces: &[(&Piece, f64)], is_used: [bool; REGRESSORS]) -> Option<(DVector<f64>, usize)> {
    if pieces.is_empty() {
        return None;
    }
    let rows = pieces.iter().flat_map(|(piece, times)| {
        let values = regressors(&piece.events).into_iter().zip(is_used);
        values.map(|(value, is_used)| if is_used { value * times.sqrt() } else { 0.0 })
    });
    let mut events = DMatrix::from_row_iterator(pieces.len(), REGRESSORS, rows);
    let cycles = pieces.iter().map(|(piece, times)| piece.cycles as f64 * times.sqrt());
    let cycles = DVector::from_iterator(pieces.len(), cycles);
    // Normalised, so that rare events are not neglected.
    let units: Vec<f64> = events.column_iter().map(|column| column.norm().max(1.0)).collect();
    for (mut column, unit) in events.column_iter_mut().zip(&units) {
        column /= *unit;
    }
    let parts = events.svd(true, true);
    let weakest = WEAKEST * parts.singular_values.max();
    let mut each = parts.solve(&cycles, weakest).ok()?;
    for ((coefficient, unit), is_used) in each.iter_mut().zip(&units).zip(is_used) {
        *coefficient = if is_used { *coefficient / unit } else { 0.0 };
    }
    each.iter().all(|coefficient| coefficient.is_finite()).then_some((each, parts.rank(weakest)))
}

/// The weighted sum of a regressor over all pieces.
fn sum(pieces: &[(&Piece, f64)], at: usize) -> f64 {
    pieces.iter().map(|(piece, times)| times * regressors(&piece.events)[at]).sum()
}

/// For each regressor, true if it occurs as often in windows as in their warm-ups, on average. One that does not, such
/// as misses whose prefetches are timely only while nothing is timed, depends on the pipeline and not on the program.
fn comparable(run: &Sample<'_>) -> [bool; REGRESSORS] {
    let difference = |it: &SimulatedWindow, at: usize| {
        let (own, both) = (regressors(&it.events), regressors(&it.events_with_warm_up));
        let warm_up = both[0] - own[0];
        // For as many instructions as the window has.
        if warm_up > 0.0 { own[at] - (both[at] - own[at]) * own[0] / warm_up } else { 0.0 }
    };
    std::array::from_fn(|at| {
        let of = |it: &SimulatedWindow| difference(it, at);
        at == 0 || run.mean(of).abs() <= DEVIATIONS * run.variance(&run.each(of), 1).sqrt()
    })
}

/// The regressors, instructions first. Code-line fetches and page walks are left out: the pipeline fetches more lines,
/// since prediction runs ahead, and starts some walks twice.
fn regressors(events: &EventCounts) -> [f64; REGRESSORS] {
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
