//! The stages of a prediction, in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use corun_record::{Prediction, Progress};

use crate::stages::{
    ExtrapolatedRun, FittedModel, MeasuredProgram, MemoryProbe, ProfiledRun, RecordedRun, Report,
    SimulatedRun,
};
use crate::{Job, PredictError};

/// Predicts how long a program takes on a core; `progress` hears of each stage.
///
/// # Errors
/// If the program cannot be run, traced or simulated, or `stop` was set. A program that cannot be measured natively gets
/// a caveat instead.
pub fn predict(
    job: &Job<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Prediction, PredictError> {
    let (started, begun) = (SystemTime::now(), Instant::now());
    let profiled = ProfiledRun::of(job, progress, stop)?;
    let recorded = RecordedRun::of(job, profiled, progress, stop)?;
    let probe = MemoryProbe::prepare(job);
    let measured = MeasuredProgram::of(job, &recorded, probe, progress, stop)?;
    let fitted = FittedModel::of(job, &measured)?;
    let simulated = SimulatedRun::of(job, &recorded, &fitted, progress, stop)?;
    let extrapolated = ExtrapolatedRun::of(&recorded, &simulated);
    let report = Report { job, recorded: &recorded, measured, fitted, simulated, extrapolated };
    let prediction = report.document(started, begun.elapsed());
    if stop.load(Ordering::Relaxed) {
        // Ctrl-C also reaches the program, which may have ended before the flag was read.
        return Err(PredictError::Interrupted { during: "measured" });
    }
    recorded.keep(job.keep.as_deref())?;
    Ok(prediction)
}
