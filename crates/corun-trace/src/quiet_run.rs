//! A trace that is a means to an end: of a plan that is known, with all threads and without a second run, while the program's
//! output is thrown away. Predictions and studies make theirs so.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use corun_record::Progress;

use crate::format::Options;
use crate::{
    Part, Profile, SlowRunNotice, Target, TraceError, TraceOutcome, TracePlan, TraceRequest,
    TracerSelection, run_trace,
};

/// Traces what a plan asks for of a run of so many instructions, if that is known.
///
/// # Errors
/// As [`run_trace`].
pub fn trace_quietly<W: Write + Send + 'static>(
    target: &Target,
    (plan, instructions): (TracePlan, Option<u64>),
    chosen: &TracerSelection<'_>,
    output: W,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<(TraceOutcome, W), TraceError> {
    let mut target = target.clone();
    target.context.is_silent = true;
    let request = TraceRequest {
        target,
        remarks: Vec::new(),
        part: Part::Of(plan),
        instructions,
        from: None,
        threads: Vec::new(),
        runs_again: false,
        compares_output: false,
        options: Options::default(),
        slow_run: SlowRunNotice::default(),
    };
    run_trace(&request, chosen, output, progress, stop)
}

/// The instructions of a run, all threads together.
///
/// # Errors
/// If the program cannot be started or the tracer fails.
pub fn count_quietly(
    target: &Target,
    chosen: &TracerSelection<'_>,
    stop: &AtomicBool,
) -> Result<u64, TraceError> {
    let mut nothing = Profile::new(u64::MAX, None);
    let traced = chosen.tracer.trace(target, TracePlan::Count, &mut nothing, stop)?;
    Ok(traced.instructions)
}
