//! One program on many cores: it is recorded once, and a core that fails does not end the others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corun_machine::Machine;
use corun_measure::execution::Interrupt;
use corun_record::{Prediction, Unwatched};
use corun_sim::in_parallel;

use super::PredictRequest;
use super::cores::{CoreVariant, ReadyCore};
use crate::{Job, PredictError, RecordedJob};

/// Predicts the program of a request on each of these cores, in place of those that it names, `jobs` of them at a time. `done`
/// is given the place of each core and the outcome of it, as soon as it is known; a core that `stop` prevented is not
/// reported.
///
/// # Errors
/// If the request is not valid, or the program cannot be recorded: then there is no prediction on any core.
pub(crate) fn predict_each(
    request: &PredictRequest,
    (variants, jobs): (&[CoreVariant], usize),
    machine: &Machine,
    (interrupt, stop): (&Interrupt, &AtomicBool),
    done: &(dyn Fn(usize, Result<Prediction, PredictError>) + Sync),
) -> Result<(), PredictError> {
    let beside = request.beside()?;
    let mut ready = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        match ReadyCore::variant(request, variant) {
            Ok(core) => ready.push((place, core)),
            Err(error) => done(place, Err(error)),
        }
    }
    if ready.is_empty() || stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let subject = request.subject(beside, machine, interrupt, stop)?;
    let cores = ready.iter().map(|(_, core)| core.core()).collect();
    // One round: every core is predicted from the same recorded windows.
    let job = Job {
        // Where there are fewer cores than jobs, each core has several.
        jobs: jobs.div_ceil(ready.len()),
        ..request.job(subject, cores, machine)
    };
    let recorded = RecordedJob::of(&job, &Unwatched, stop)?;
    in_parallel(jobs, ready.len(), |at| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let (place, core) = &ready[at];
        // Each core has the whole time for itself, after the program was recorded.
        let ends = Instant::now() + request.max_time;
        match recorded.predict(std::slice::from_ref(&job.cores[at]), ends, &Unwatched, stop) {
            // What was cut short is predicted again by who resumes the sweep.
            _ if stop.load(Ordering::Relaxed) => {}
            Ok(predicted) => {
                predicted.into_iter().for_each(|it| done(*place, Ok(core.with_timing_caveat(it))));
            }
            Err(error) => done(*place, Err(error)),
        }
    });
    Ok(())
}
