//! The stages of a prediction, in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use corun_record::{Prediction, Progress};

use crate::limit::until;
use crate::stages::{
    BesideRun, CoreRuns, ExtrapolatedRun, FittedModel, MeasuredOther, MeasuredProgram, MemoryProbe,
    ProfiledRun, RecordedRun, Report, SiblingRuns, Subject, ThreadTraces, ThreadsRun,
    simulate_rounds, stacked,
};
use crate::{Core, Job, PredictError};

/// Predicts how long a program takes on each of some cores, and what siblings do to it there; `progress` hears of each
/// stage. The program is traced and measured once. When the time is over, or `stop` is set, what was recorded and simulated by
/// then is the answer; cores of which nothing is known are left out.
///
/// # Errors
/// If the program cannot be run, traced or simulated, or nothing was recorded yet. A program that cannot be measured natively
/// gets a caveat instead.
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

/// Time of simulating what was recorded until the user ended it.
const AFTER_INTERRUPT: Duration = Duration::from_secs(2);

/// A program that was traced and measured, and can be predicted on each of the job's cores.
pub struct RecordedJob<'a> {
    job: &'a Job<'a>,
    started: SystemTime,
    begun: Instant,
    recorded: RecordedRun,
    /// The other program; none if there is none, or nothing of it was recorded.
    other: Option<MeasuredOther>,
    /// None if not all was recorded that placements need.
    threads: Option<ThreadTraces>,
    measured: MeasuredProgram,
    siblings: SiblingRuns,
}

impl<'a> RecordedJob<'a> {
    /// Traces and measures the program; `progress` hears of each stage. Once `stop` is set, what was recorded is all there is.
    ///
    /// # Errors
    /// If the program cannot be run or traced, or `stop` was set before anything was recorded.
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
            known(record(job, other, ends, progress, stop))
        });
        let other = other.transpose()?.flatten();
        let threads = until(limit.measuring_ends(), stop, |stop| {
            ThreadTraces::of(job, &recorded, progress, stop)
        });
        let threads = known(threads)?;
        let probe = MemoryProbe::prepare(job);
        let measured = MeasuredProgram::of(job, &recorded, probe, progress, stop)?;
        let other = other.map(|run| MeasuredOther::of(job, run, progress, stop)).transpose()?;
        let siblings = SiblingRuns::of(job, &recorded, progress, stop);
        Ok(Self { job, started, begun, recorded, other, threads, measured, siblings })
    }

    /// Predicts it on some cores, on each from the same windows, until the time is over or `stop` is set. Where it was set
    /// before, there are moments for that.
    ///
    /// # Errors
    /// If it cannot be simulated there.
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
        let has_threads = self.threads.as_ref().is_some_and(|it| !it.is_empty());
        let left = ends.saturating_duration_since(now);
        let ends_windows =
            if job.beside.stacked || has_threads { now + left * 2 / 3 } else { ends };
        let never = AtomicBool::new(false);
        let (rounds, course) = match stop.load(Ordering::Relaxed) {
            true => (1, (ends.min(now + AFTER_INTERRUPT), progress, &never)),
            false => (job.rounds, (ends_windows, progress, stop)),
        };
        let simulated = simulate_rounds((job, rounds), runs, (cores, &fitted), course)?;
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
        let threads = threads.as_ref().map(|threads| {
            known(until(ends, stop, |stop| {
                ThreadsRun::of(job, core, (recorded, threads), fitted, progress, stop)
            }))
        });
        let threads = threads.transpose()?.flatten();
        let lacks_other = other.is_none() && job.beside.other.is_some();
        let in_turns = (fitted, &simulated);
        let stacked = stacked(job, core, recorded, in_turns, ends, progress, stop)?;
        let is_cut = missing > 0.0
            || threads.is_none()
            || lacks_other
            || beside.iter().any(BesideRun::is_cut);
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
            threads: threads.as_deref().unwrap_or_default(),
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

/// The outcome of a stage; none if it was ended before there was one.
fn known<T>(outcome: Result<T, PredictError>) -> Result<Option<T>, PredictError> {
    match outcome {
        Err(error) if error.is_cut() => Ok(None),
        other => other.map(Some),
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
