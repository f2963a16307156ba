//! Extrapolation of cycles from the simulated windows to the whole run.
//!
//! Functional warming counts mispredictions and cache misses over everything that is recorded, but not their cost. A
//! regression over the windows gives the cost of each event, and is applied to all that is recorded: a regression estimate
//! in two phases (Cochran 1977, Sampling Techniques, 7.6 and 12.6). A burst of misses outside every window is therefore
//! counted. Windows enter with their weights (Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, 6.4).
//! Long windows enter in pieces, but the variance comes from whole windows, since the pieces of one are alike. With too few
//! pieces a ratio estimate is used (Cochran, 6.4).

mod coefficients;
mod sample;
#[cfg(test)]
mod tests;

use corun_record::Estimate;
use corun_sim::SimulatedWindow;
use corun_stats::student_t;

use crate::estimate::LEVEL;
use coefficients::Coefficients;
pub(crate) use sample::Sample;
use sample::{instructions, variance};

/// Cycles of a run of `total` instructions from its windows; none without windows.
///
/// A run that was simulated whole, or in a single window, has an interval without width: nothing is known
/// then of what another window would give. Windows that lie evenly, or were chosen by what is executed, are mostly
/// better than random ones, for which the interval is made.
pub fn extrapolated(windows: &[SimulatedWindow], total: u64) -> Option<Estimate> {
    let run = Sample::of(windows, total)?;
    let coefficients = Coefficients::fit(&run)
        .filter(|coefficients| {
            windows.iter().all(|window| coefficients.of(&window.events_with_warm_up) > 0.0)
        })
        .unwrap_or_else(|| Coefficients::of_instructions(run.mean(|it| it.cycles as f64), windows));
    let expected = |it: &SimulatedWindow| coefficients.of(&it.events);
    let unexplained = |it: &SimulatedWindow| it.cycles as f64 - expected(it);
    let recorded = |it: &SimulatedWindow| it.events_with_warm_up.instructions as f64;
    let explained_cycles = |it: &SimulatedWindow| coefficients.of(&it.events_with_warm_up);
    let records = run.records();
    let of_records = |of: &dyn Fn(&SimulatedWindow) -> f64| {
        records.iter().map(|(it, times)| times * of(it)).sum::<f64>()
    };
    // Unrecorded parts are like their simulation point or, for windows at random places, like what is recorded of their part.
    let explained = (of_records(&explained_cycles) + run.left_out(expected))
        / (of_records(&recorded) + run.left_out(instructions));
    let rate = explained + run.mean(unexplained);
    let half = student_t(LEVEL, (windows.len() - coefficients.freedom_lost + 1) as u32).map_or(
        0.0,
        |reach| {
            // The residuals are known for windows only, ...
            let of_windows =
                coefficients.variance_left(&run) * share_left(run.instructions, run.total);
            // ... the explained part for all that is recorded.
            let of_explained = match run.is_chosen {
                true => {
                    run.variance(&run.each(expected), 1)
                        * share_left(run.recorded, run.total).powi(2)
                }
                false => {
                    let deviations = records.iter().map(|&(it, times)| {
                        times * (explained_cycles(it) - explained * recorded(it))
                    });
                    let mean = of_records(&recorded) / windows.len() as f64;
                    variance(deviations, 1) / mean.powi(2) / windows.len() as f64
                        * share_left(run.recorded, run.total)
                }
            };
            reach * (of_windows + of_explained).sqrt()
        },
    );
    let scaled = |rate: f64| rate * run.total;
    Some(Estimate {
        value: scaled(rate),
        // No instruction takes no time: where too little is known, the logarithm has as wide an interval.
        low: scaled(if half < rate { rate - half } else { rate * (-half / rate).exp() }),
        high: scaled(rate + half),
        level: LEVEL,
        blocks: windows.len() as u32,
    })
}

/// Instructions of a thread that its windows stand for; none if they were not chosen for that.
pub(crate) fn represented_instructions(windows: &[SimulatedWindow]) -> Option<f64> {
    Sample::of(windows, 0).filter(|run| run.is_chosen).map(|run| run.stand_for())
}

/// The share of the whole that is not simulated.
fn share_left(part: f64, whole: f64) -> f64 {
    (1.0 - part / whole.max(1.0)).max(0.0)
}
