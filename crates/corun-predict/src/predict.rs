//! The stages of a prediction, in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use corun_record::{Prediction, Progress};

use crate::stages::{
    CoreRuns, ExtrapolatedRun, FittedModel, MeasuredOther, MeasuredProgram, MemoryProbe,
    ProfiledRun, RecordedRun, Report, SiblingRuns, Subject, ThreadTraces, ThreadsRun,
    simulate_rounds, stacked,
};
use crate::{Job, PredictError};

/// Predicts how long a program takes on each of some cores, and what siblings do to it there; `progress` hears of each
/// stage. The program is traced and measured once.
///
/// # Errors
/// If the program cannot be run, traced or simulated, or `stop` was set. A program that cannot be measured natively gets
/// a caveat instead.
pub fn predict(
    job: &Job<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Vec<Prediction>, PredictError> {
    let (started, begun) = (SystemTime::now(), Instant::now());
    let recorded = record(job, Subject::predicted(job), progress, stop)?;
    let other = job.beside.other.as_ref().map(Subject::beside);
    let other = other.map(|other| record(job, other, progress, stop)).transpose()?;
    let threads = ThreadTraces::of(job, &recorded, progress, stop)?;
    // Tracing is not counted.
    let end = Instant::now() + job.max_time;
    let probe = MemoryProbe::prepare(job);
    let measured = MeasuredProgram::of(job, &recorded, probe, progress, stop)?;
    let other = other.map(|run| MeasuredOther::of(job, run, progress, stop)).transpose()?;
    let siblings = SiblingRuns::of(job, &recorded, progress, stop)?;
    let fitted = job.cores.iter().map(|core| FittedModel::of(job, core, &measured));
    let fitted = fitted.collect::<Result<Vec<_>, _>>()?;
    let runs = (&recorded, other.as_ref().map(|it| &it.run));
    let simulated = simulate_rounds(job, runs, &fitted, progress, stop)?;
    let mut predictions = Vec::new();
    for ((core, fitted), runs) in job.cores.iter().zip(fitted).zip(simulated) {
        let CoreRuns { alone: simulated, beside } = runs;
        let traces = (&recorded, &threads);
        let threads = ThreadsRun::of(job, core, traces, &fitted, progress, stop)?;
        let in_turns = (&fitted, &simulated);
        let stacked = stacked(job, core, &recorded, in_turns, end, progress, stop)?;
        let extrapolated = ExtrapolatedRun::of(&recorded, &simulated);
        let (recorded, other) = (&recorded, other.as_ref());
        let (measured, fitted, simulated) = (&measured, &fitted, &simulated);
        let report = Report {
            job,
            core,
            recorded,
            other,
            measured,
            siblings: &siblings,
            fitted,
            simulated,
            beside: &beside,
            threads: &threads,
            stacked,
            extrapolated,
        };
        predictions.push(report.document(started, begun.elapsed()));
    }
    if stop.load(Ordering::Relaxed) {
        // Ctrl-C also reaches the program, which may have ended before the flag was read.
        return Err(PredictError::Interrupted { during: "measured" });
    }
    recorded.keep(job.keep.as_deref())?;
    Ok(predictions)
}

fn record(
    job: &Job<'_>,
    subject: Subject<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<RecordedRun, PredictError> {
    let profiled = ProfiledRun::of(job, subject, progress, stop)?;
    RecordedRun::of(job, subject, profiled, progress, stop)
}
