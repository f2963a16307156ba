//! The stages of a prediction, in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use corun_record::{Prediction, Progress};

use crate::limit::until;
use crate::stages::{
    BesideRun, CoreRuns, ExtrapolatedRun, FittedModel, MeasuredOther, MeasuredProgram, MemoryProbe,
    ProfiledRun, RecordedRun, Report, SiblingRuns, Subject, ThreadTraces, ThreadsRun,
    simulate_rounds, stacked,
};
use crate::{Core, Job, PredictError};

/// Predicts how long a program takes on each of some cores, and what siblings do to it there; `progress` hears of each
/// stage. The program is traced and measured once. When the time is over, or `stop` is set while windows are simulated, what is
/// known by then is the answer; cores of which nothing is known are left out.
///
/// # Errors
/// If the program cannot be run, traced or simulated, or nothing is known yet. A program that cannot be measured natively gets
/// a caveat instead.
pub fn predict(
    job: &Job<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Vec<Prediction>, PredictError> {
    let recorded = RecordedJob::of(job, progress, stop)?;
    let predictions = recorded.predict(&job.cores, job.limit.ends(), progress, stop)?;
    recorded.keep()?;
    Ok(predictions)
}

/// A program that was traced and measured, and can be predicted on each of the job's cores.
pub struct RecordedJob<'a> {
    job: &'a Job<'a>,
    started: SystemTime,
    begun: Instant,
    recorded: RecordedRun,
    other: Option<MeasuredOther>,
    threads: ThreadTraces,
    measured: MeasuredProgram,
    siblings: SiblingRuns,
}

impl<'a> RecordedJob<'a> {
    /// Traces and measures the program; `progress` hears of each stage.
    ///
    /// # Errors
    /// If the program cannot be run or traced, or `stop` was set.
    pub fn of(
        job: &'a Job<'a>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let (started, begun) = (SystemTime::now(), Instant::now());
        let limit = &job.limit;
        let mut ends = (limit.pre_run_ends(), limit.recording_ends());
        if job.beside.other.is_some() {
            // Both are recorded in the time of one.
            ends.1 = ends.0;
        }
        let recorded = record(job, Subject::predicted(job), ends, progress, stop)?;
        let other = job.beside.other.as_ref().map(Subject::beside);
        let other = other.map(|other| {
            let ends = (limit.recording_ends(), limit.recording_ends());
            record(job, other, ends, progress, stop)
        });
        let other = other.transpose()?;
        let threads = until(limit.measuring_ends(), stop, |stop| {
            ThreadTraces::of(job, &recorded, progress, stop)
        });
        let threads = threads.map_err(|error| job.named(error, stop))?;
        let probe = MemoryProbe::prepare(job);
        let measured = MeasuredProgram::of(job, &recorded, probe, progress, stop)?;
        let other = other.map(|run| MeasuredOther::of(job, run, progress, stop)).transpose()?;
        let siblings = SiblingRuns::of(job, &recorded, progress, stop)?;
        Ok(Self { job, started, begun, recorded, other, threads, measured, siblings })
    }

    /// Predicts it on some cores, on each from the same windows, until the time is over.
    ///
    /// # Errors
    /// If it cannot be simulated there, or `stop` was set.
    pub fn predict(
        &self,
        cores: &[Core<'_>],
        ends: Instant,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Vec<Prediction>, PredictError> {
        let Self { job, recorded, other, measured, .. } = self;
        let fitted = cores.iter().map(|core| FittedModel::of(job, core, measured));
        let fitted = fitted.collect::<Result<Vec<_>, _>>()?;
        let runs = (recorded, other.as_ref().map(|it| &it.run));
        // Time slices, and threads together, come after windows.
        let now = Instant::now();
        let comes_more = job.beside.stacked || !self.threads.is_empty();
        let left = ends.saturating_duration_since(now);
        let ends_windows = if comes_more { now + left * 2 / 3 } else { ends };
        let simulated =
            simulate_rounds(job, runs, (cores, &fitted), (ends_windows, progress, stop))?;
        let on_core =
            |((core, fitted), runs)| self.complete(core, fitted, runs, (ends, progress, stop));
        cores.iter().zip(&fitted).zip(simulated).map(on_core).collect()
    }

    /// The prediction on a core of which the windows are simulated.
    fn complete(
        &self,
        core: &Core<'_>,
        fitted: &FittedModel,
        CoreRuns { alone: simulated, beside, missing }: CoreRuns,
        (ends, progress, stop): (Instant, &dyn Progress, &AtomicBool),
    ) -> Result<Prediction, PredictError> {
        let Self { job, recorded, other, threads, measured, siblings, .. } = self;
        let threads = until(ends, stop, |stop| {
            ThreadsRun::of(job, core, (recorded, threads), fitted, progress, stop)
        });
        let threads_are_cut = threads.as_ref().is_err_and(PredictError::is_cut);
        let threads = if threads_are_cut { Vec::new() } else { threads? };
        let in_turns = (fitted, &simulated);
        let stacked = stacked(job, core, recorded, in_turns, ends, progress, stop)?;
        let is_cut = missing > 0.0 || threads_are_cut || beside.iter().any(BesideRun::is_cut);
        let was_interrupted = stop.load(Ordering::Relaxed);
        let report = Report {
            job,
            core,
            recorded,
            other: other.as_ref(),
            measured,
            siblings,
            fitted,
            simulated: &simulated,
            beside: &beside,
            threads: &threads,
            stacked,
            extrapolated: ExtrapolatedRun::of(recorded, &simulated, missing),
            missing,
            is_cut,
            was_interrupted,
        };
        Ok(report.document(self.started, self.begun.elapsed()))
    }

    /// Keeps the trace, if the job asks for it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(self) -> Result<(), PredictError> {
        self.recorded.keep(self.job.keep.as_deref())
    }
}

fn record(
    job: &Job<'_>,
    subject: Subject<'_>,
    (counted, recorded): (Instant, Instant),
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<RecordedRun, PredictError> {
    let profiled = ProfiledRun::of(job, subject, counted, progress, stop)?;
    RecordedRun::of(job, subject, profiled, recorded, (progress, stop))
}
