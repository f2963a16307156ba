//! Count or profile: a silent run before the traced one, if the choice of windows needs it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corun_record::{Progress, Stage};
use corun_trace::{Ending, Native, PreRun, PreRunResult, Target, TraceError, TracePlan};

use super::Subject;
use crate::limit::until;
use crate::{Job, PredictError};

/// The result of the pre-run, and the plan of the traced run that follows from it.
pub(crate) struct ProfiledRun {
    /// The part of the run to record.
    pub(super) plan: TracePlan,
    /// Instructions of all threads before the part that counts.
    pub(super) before: u64,
    /// Instructions of the whole run; none without a pre-run.
    pub(super) instructions: Option<u64>,
    /// True if the time was over before the run was, so that only its beginning is recorded.
    pub(super) is_cut: bool,
}

impl ProfiledRun {
    /// Runs the program once, unless the plan is known without.
    pub(crate) fn of(
        job: &Job<'_>,
        subject: Subject<'_>,
        ends: Instant,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let pre_run = job.sampling.pre_run(subject.from);
        let mut result = None;
        if pre_run.is_needed() {
            let what =
                if pre_run.learns() { "profiling the program" } else { "counting instructions" };
            progress.begin(Stage::new(what, "", None));
            let found = until(ends, stop, |stop| run(job, subject.target, pre_run, stop))?;
            let was_interrupted = found.traced.ending == Ending::Interrupted;
            if was_interrupted {
                return match stop.load(Ordering::Relaxed) {
                    true => Err(PredictError::Interrupted { during: COUNTED }),
                    false => Self::beginning(job, subject),
                };
            }
            PredictError::check_ending(subject.target, &found.traced)?;
            result = Some(found);
        }
        Ok(Self {
            plan: job.sampling.plan(result.as_ref()),
            before: result.as_ref().map_or(0, |result| result.before),
            instructions: result.map(|result| result.traced.instructions),
            is_cut: false,
        })
    }

    /// The beginning of a run that is too long to be counted: what a tracer surely gets through.
    fn beginning(job: &Job<'_>, subject: Subject<'_>) -> Result<Self, PredictError> {
        if subject.from.is_some() {
            return Err(PredictError::time_up(job, "traced"));
        }
        let left = job.limit.recording_ends().saturating_duration_since(Instant::now());
        let plan = job.sampling.plan_of_first((RATE * left.as_secs_f64()) as u64);
        Ok(Self { plan, before: 0, instructions: None, is_cut: true })
    }
}

/// The stage, in an error that says what was interrupted.
const COUNTED: &str = "run to count its instructions";

/// Instructions in a second that the quicker tracers record, at least.
const RATE: f64 = 2e7;

fn run(
    job: &Job<'_>,
    target: &Target,
    pre_run: PreRun,
    stop: &AtomicBool,
) -> Result<PreRunResult, PredictError> {
    pre_run.run(target, job.tracer.tracer, stop).map_err(|error| {
        if let TraceError::NoCall { .. } = error {
            return PredictError::Trace(error);
        }
        // A program that dies before its first event looks like a tracer failure: run it natively to distinguish them.
        match Native::run(target, stop).map(|native| native.ending) {
            Ok(Ending::Killed(signal)) => PredictError::killed(target, signal),
            Ok(Ending::Interrupted) => PredictError::Interrupted { during: COUNTED },
            _ => PredictError::Trace(error),
        }
    })
}
