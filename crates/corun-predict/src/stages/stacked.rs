//! Stacked: the work of a hardware thread on which copies take turns, as a kernel's time slices have them.
//!
//! A slice loses the switch, and what the caches and predictors have to be filled with again. Nothing else differs from one
//! copy alone, so that this is all that is simulated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corun_record::{Caveat, Estimate, PredictedStacked, Progress, Stage};
use corun_sim::simulate_refills;
use corun_stats::student_t;

use super::{FittedModel, RecordedRun, SimulatedRun};
use crate::estimate::LEVEL;
use crate::{Core, Job, PredictError};

/// A slice and a switch, as `corun simulate --placement stacked` has them.
const SLICE_MS: f64 = 3.0;
const SWITCH_US: f64 = 2.0;
/// Instructions of the other copy between two slices, at most: enough to fill a second level.
const MOST_BETWEEN: f64 = 4e6;

/// The fewest places that an interval rests on.
const FEWEST: usize = 2;

/// Stacked copies, where they were asked for.
#[derive(Default)]
pub(crate) struct StackedRun {
    /// Their work; none where there was no time for it.
    pub(super) predicted: Option<PredictedStacked>,
    /// Caveat that there was no time for all of it.
    pub(super) caveat: Option<Caveat>,
}

/// Predicts the work of stacked copies, up to the end of the job's time.
pub(crate) fn stacked(
    job: &Job<'_>,
    core: &Core<'_>,
    recorded: &RecordedRun,
    (fitted, simulated): (&FittedModel, &SimulatedRun),
    end: Instant,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<StackedRun, PredictError> {
    if !job.beside.stacked {
        return Ok(StackedRun::default());
    }
    progress.begin(Stage::new("simulating time slices", "", None));
    let slice = SLICE_MS * fitted.model.gigahertz * 1e6;
    let between = (slice * simulated.windows.together.ipc()).min(MOST_BETWEEN) as u64;
    // What is known of slices when it is to end is the answer.
    let goes_on = || true;
    let has_time = || Instant::now() < end && !stop.load(Ordering::Relaxed);
    let (pages, seed) = (job.pages, job.beside.seed);
    let (model, timings) = (&fitted.model, core.timings);
    let refills = simulate_refills(
        model,
        timings,
        recorded.recording(),
        pages,
        seed,
        between,
        (goes_on, has_time),
    )?
    .ok_or(PredictError::Interrupted { during: "simulated" })?;
    let switch = SWITCH_US * fitted.model.gigahertz * 1e3;
    let predicted = PredictedStacked {
        slice_ms: SLICE_MS,
        switch_us: SWITCH_US,
        refill_cycles: mean(&refills.cycles).max(0.0),
        late_share: refills.late,
        work: work(slice, switch, &refills.cycles),
    };
    let is_known = !refills.is_cut || refills.cycles.len() >= FEWEST;
    Ok(StackedRun {
        caveat: refills.is_cut.then(|| {
            let by_user = stop.load(Ordering::Relaxed);
            cut(job.limit.max_time(), refills.cycles.len(), by_user)
        }),
        predicted: is_known.then_some(predicted),
    })
}

/// Caveat that the time was used up, or the user ended it, after so many places.
fn cut(max_time: Duration, places: usize, by_user: bool) -> Caveat {
    let after = match by_user {
        true => "It was ended by the user".to_owned(),
        false => format!("The time allowed ({max_time:?}) was used up"),
    };
    let sentence = match places {
        0..FEWEST => format!(
            "{after} before time slices were simulated at two places of the run, so that stacked has no figure."
        ),
        _ => format!(
            "{after} while time slices were simulated: stacked rests on the first {places} places of the run alone."
        ),
    };
    let more = if by_user { "" } else { " More --max-time simulates more." };
    Caveat::new("time-slices-cut", format!("{sentence}{more}"))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The work of a hardware thread with stacked copies over that of one copy, from the cycles of a slice, of a switch, and of
/// the refills at several places.
fn work(slice: f64, switch: f64, refills: &[f64]) -> Estimate {
    let count = refills.len();
    let refill = mean(refills);
    let squares: f64 = refills.iter().map(|one| (one - refill).powi(2)).sum();
    let variance = squares / count.saturating_sub(1).max(1) as f64 / count.max(1) as f64;
    let half = student_t(LEVEL, count as u32).unwrap_or(0.0) * variance.sqrt();
    // A slice is longer than what it loses, and no refill gains anything.
    let of = |refill: f64| 1.0 - ((switch + refill.max(0.0)) / slice).min(0.99);
    Estimate {
        value: of(refill),
        low: of(refill + half),
        high: of(refill - half),
        level: LEVEL,
        blocks: count as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_is_said_with_what_is_left() {
        let of = |places| cut(Duration::from_secs(10), places, false).sentence;
        assert!(of(1).contains("(10s) was used up before") && of(1).contains("no figure"));
        assert!(of(3).contains("the first 3 places"), "{}", of(3));
        let by_user = cut(Duration::from_secs(10), 1, true).sentence;
        assert!(by_user.contains("by the user before") && !by_user.contains("--max-time"));
    }

    #[test]
    fn a_slice_loses_its_switch_and_its_refills() {
        let sure = work(1e7, 1e4, &[9e4, 9e4, 9e4]);
        assert!((sure.value - 0.99).abs() < 1e-12 && sure.low == sure.value, "{sure:?}");
        let unsure = work(1e7, 1e4, &[0.0, 18e4]);
        assert!((unsure.value - 0.99).abs() < 1e-12 && unsure.low < 0.95, "{unsure:?}");
        assert!((unsure.high - 0.999).abs() < 1e-12, "the switch is always lost: {unsure:?}");
        let short = work(1e7, 1e4, &[]);
        assert!((short.value - 0.999).abs() < 1e-12, "{short:?}");
        assert!(work(100.0, 1e4, &[1e4]).value > 0.0);
    }
}
