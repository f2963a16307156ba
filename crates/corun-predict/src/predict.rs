//! The stages of a prediction, in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use corun_record::{Prediction, Progress};

use crate::stages::{
    CoreRuns, ExtrapolatedRun, FittedModel, MeasuredOther, MeasuredProgram, MemoryProbe,
    ProfiledRun, RecordedRun, Report, SiblingRuns, Subject, ThreadTraces, ThreadsRun,
    simulate_rounds, stacked,
};
use crate::{Core, Job, PredictError};

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
    let recorded = RecordedJob::of(job, progress, stop)?;
    let predictions = recorded.predict(&job.cores, progress, stop)?;
    recorded.keep()?;
    Ok(predictions)
}

/// A program that was traced and measured, and can be predicted on each of the job's cores.
pub struct RecordedJob<'a> {
    job: &'a Job<'a>,
    started: SystemTime,
    begun: Instant,
    /// When the time that it may take is used up; tracing is not counted.
    end: Instant,
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
        let recorded = record(job, Subject::predicted(job), progress, stop)?;
        let other = job.beside.other.as_ref().map(Subject::beside);
        let other = other.map(|other| record(job, other, progress, stop)).transpose()?;
        let threads = ThreadTraces::of(job, &recorded, progress, stop)?;
        let end = Instant::now() + job.max_time;
        let probe = MemoryProbe::prepare(job);
        let measured = MeasuredProgram::of(job, &recorded, probe, progress, stop)?;
        let other = other.map(|run| MeasuredOther::of(job, run, progress, stop)).transpose()?;
        let siblings = SiblingRuns::of(job, &recorded, progress, stop)?;
        Ok(Self { job, started, begun, end, recorded, other, threads, measured, siblings })
    }

    /// Predicts it on some cores, on each from the same windows.
    ///
    /// # Errors
    /// If it cannot be simulated there, or `stop` was set.
    pub fn predict(
        &self,
        cores: &[Core<'_>],
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Vec<Prediction>, PredictError> {
        let Self { job, recorded, other, measured, .. } = self;
        let fitted = cores.iter().map(|core| FittedModel::of(job, core, measured));
        let fitted = fitted.collect::<Result<Vec<_>, _>>()?;
        let runs = (recorded, other.as_ref().map(|it| &it.run));
        let simulated = simulate_rounds(job, runs, (cores, &fitted), progress, stop)?;
        let on_core = |((core, fitted), runs)| self.complete(core, fitted, runs, progress, stop);
        cores.iter().zip(&fitted).zip(simulated).map(on_core).collect()
    }

    /// The prediction on a core of which the windows are simulated.
    fn complete(
        &self,
        core: &Core<'_>,
        fitted: &FittedModel,
        CoreRuns { alone: simulated, beside }: CoreRuns,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Prediction, PredictError> {
        let Self { job, recorded, other, threads, measured, siblings, .. } = self;
        let threads = ThreadsRun::of(job, core, (recorded, threads), fitted, progress, stop)?;
        let in_turns = (fitted, &simulated);
        let stacked = stacked(job, core, recorded, in_turns, self.end, progress, stop)?;
        if stop.load(Ordering::Relaxed) {
            // Ctrl-C also reaches the program, which may have ended before the flag was read.
            return Err(PredictError::Interrupted { during: "measured" });
        }
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
            extrapolated: ExtrapolatedRun::of(recorded, &simulated),
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
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<RecordedRun, PredictError> {
    let profiled = ProfiledRun::of(job, subject, progress, stop)?;
    RecordedRun::of(job, subject, profiled, progress, stop)
}
