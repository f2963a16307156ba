//! A trace that is a means to an end: of a plan that is known, with all threads and without a second run, while the program's
//! output is thrown away. Predictions and studies make theirs so.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
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
/// As [`run_trace`], and if the program's output cannot be thrown away.
pub fn trace_quietly<W: Write + Send + 'static>(
    target: &Target,
    (plan, instructions): (TracePlan, Option<u64>),
    chosen: &TracerSelection<'_>,
    output: W,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<(TraceOutcome, W), TraceError> {
    let request = TraceRequest {
        target: target.clone(),
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
    let silence = Silence::begin().map_err(|error| TraceError::Failed {
        tracer: chosen.tracer.name(),
        reason: format!("the program's output cannot be thrown away: {error}"),
    })?;
    let outcome = run_trace(&request, chosen, output, progress, stop);
    drop(silence);
    outcome
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

/// While it lives, what this process and those that it starts write to standard output is lost.
struct Silence(OwnedFd);

impl Silence {
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    fn begin() -> io::Result<Self> {
        let shown = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
        Ok(Self(shown))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // Nothing can be shown; a later write to standard output fails, too.
        let _ = rustix::stdio::dup2_stdout(&self.0);
    }
}
