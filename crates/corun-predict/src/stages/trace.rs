//! Trace: the run whose planned parts are recorded, in a file that goes away unless it is kept.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use corun_files::Output;
use corun_record::{Progress, Stage};
use corun_sim::Recording;
use corun_trace::format::{Thread, Trace};
use corun_trace::{Ending, ThreadId, TracePlan, trace_quietly};

use super::{ProfiledRun, Subject};
use crate::limit::until;
use crate::{Job, PredictError};

/// The trace of a program, and its busiest thread.
pub(crate) struct RecordedRun {
    file: Output,
    pub(super) trace: Trace,
    pub(super) plan: TracePlan,
    pub(super) ending: Ending,
    /// Instructions of all threads before the part that counts.
    pub(super) before: u64,
    /// The tracer's remarks, one sentence each.
    pub(super) remarks: Vec<String>,
    /// The thread with most recorded instructions, which is the simulated one.
    pub(super) thread: ThreadId,
    /// Instructions of that thread in the whole run.
    pub(super) thread_instructions: u64,
    /// Instructions of all threads in the part that counts, recorded or not.
    pub(super) instructions: u64,
    /// Instructions of the whole run when they were counted, and when it was recorded, if both were.
    pub(super) both_counts: Option<(u64, u64)>,
    /// The end of what was recorded of a run that was ended early.
    pub(super) cut: Option<Cut>,
}

/// A run of which only the beginning is recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Instructions of the part that counts, if they are known.
    pub(super) instructions: Option<u64>,
    /// True if the user ended it, and not the limit.
    pub(super) by_user: bool,
}

impl RecordedRun {
    /// Runs the program under the tracer, up to its end or until the time is over or the user ends it: then it is the beginning
    /// of the run.
    pub(crate) fn of(
        job: &Job<'_>,
        subject: Subject<'_>,
        profiled: ProfiledRun,
        ends: Instant,
        (progress, stop): (&dyn Progress, &AtomicBool),
    ) -> Result<Self, PredictError> {
        let ProfiledRun { plan, before, instructions, is_cut } = profiled;
        let file = output_file(subject.keep)?;
        let output = file.file().try_clone().map_err(|source| trace_file(file.target(), source))?;
        let part = (plan.clone(), instructions);
        let counted = instructions;
        let instructions_of_all = instructions.map(|all| all.saturating_sub(before));
        let traced = until(ends, stop, |stop| {
            // Of a run that only begins, nothing is to come after the last window.
            let most = corun_trace::recorded(&plan).filter(|_| is_cut);
            let progress =
                Until { inner: progress, left: AtomicU64::new(most.unwrap_or(u64::MAX)), stop };
            trace_quietly(subject.target, part, &job.tracer, output, &progress, stop)
        });
        let (outcome, _) = traced.map_err(PredictError::Trace)?;
        let was_interrupted = outcome.traced.ending == Ending::Interrupted;
        let by_user = was_interrupted && stop.load(Ordering::Relaxed);
        let is_cut = is_cut || was_interrupted;
        if !was_interrupted {
            PredictError::check_ending(subject.target, &outcome.traced)?;
        }
        let input = file.file().try_clone().map_err(|source| trace_file(file.target(), source))?;
        let trace = Trace::from_file(input).map_err(PredictError::Format)?;
        let (thread, thread_instructions, instructions) = match is_cut {
            false => {
                let all = outcome.traced.instructions.saturating_sub(before);
                let (thread, own) =
                    busiest(&trace, &plan, all).ok_or(PredictError::TooShort { total: all })?;
                (thread, own, all)
            }
            true => beginning(&trace, before).ok_or(match by_user {
                true => PredictError::Interrupted { during: "traced" },
                false => PredictError::time_up(job, "traced"),
            })?,
        };
        let cut = Cut { instructions: instructions_of_all, by_user };
        Ok(Self {
            file,
            trace,
            plan,
            ending: outcome.traced.ending,
            before,
            remarks: outcome.traced.remarks,
            thread,
            thread_instructions,
            instructions,
            both_counts: counted.filter(|_| !is_cut).map(|it| (it, outcome.traced.instructions)),
            cut: is_cut.then_some(cut),
        })
    }

    /// Records other windows of the same run, those of a further round; none where windows do not lie at random places, or
    /// all of the run was seen, or another thread is the busiest one.
    pub(crate) fn again(
        &self,
        job: &Job<'_>,
        round: u32,
        seed: u64,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, PredictError> {
        let of_round = corun_trace::recorded(&self.plan).unwrap_or(u64::MAX);
        if self.cut.is_some() {
            return Ok(None);
        }
        let is_seen = of_round.saturating_mul(u64::from(round) + 1) > self.instructions;
        let Some(plan) = self.plan.with_seed(seed).filter(|_| !is_seen) else { return Ok(None) };
        let instructions = Some(self.before + self.instructions);
        let profiled = ProfiledRun { plan, before: self.before, instructions, is_cut: false };
        let subject = Subject { keep: None, ..Subject::predicted(job) };
        let next = Self::of(job, subject, profiled, job.limit.ends(), (progress, stop))?;
        Ok(Some(next).filter(|next| next.thread == self.thread && next.cut.is_none()))
    }

    /// The recorded part of the busiest thread's run.
    pub(crate) fn recording(&self) -> Recording<'_> {
        Recording { trace: &self.trace, thread: self.thread, total: self.thread_instructions }
    }

    /// Keeps the trace, if a file was named for it.
    pub(crate) fn keep(self, path: Option<&Path>) -> Result<(), PredictError> {
        match path {
            Some(path) => self.file.finish().map_err(|source| trace_file(path, source)),
            None => Ok(()),
        }
    }
}

/// The file that is to be kept, or an unnamed one in the folder for temporary files.
fn output_file(keep: Option<&Path>) -> Result<Output, PredictError> {
    let folder = std::env::temp_dir();
    let unnamed = folder.join(format!("corun-{}.trace", std::process::id()));
    match keep {
        Some(path) => Output::create(path).map_err(|source| trace_file(path, source)),
        None => {
            Output::create(&unnamed).map_err(|source| PredictError::Temporary { folder, source })
        }
    }
}

fn trace_file(path: &Path, source: io::Error) -> PredictError {
    PredictError::TraceFile { path: path.to_owned(), source }
}

/// Progress that ends a run when so many instructions are recorded.
struct Until<'a> {
    inner: &'a dyn Progress,
    left: AtomicU64,
    stop: &'a AtomicBool,
}

impl Progress for Until<'_> {
    fn begin(&self, stage: Stage) {
        self.inner.begin(stage);
    }

    fn advance(&self, units: u64) {
        self.inner.advance(units);
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(units), Ordering::Relaxed);
        if left <= units {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The busiest thread of a run whose beginning is recorded, its instructions up to there, and those of all threads.
fn beginning(trace: &Trace, before: u64) -> Option<(ThreadId, u64, u64)> {
    let threads = trace.threads();
    let one = threads.iter().rev().max_by_key(|thread| thread.instructions)?;
    let all: u64 = threads.iter().map(Thread::end).sum();
    let own = one.end().saturating_sub(before);
    (one.instructions > 0 && own > 0).then_some((one.id, own, all.saturating_sub(before)))
}

/// The thread with most recorded instructions, and how many it has in the whole run.
pub(super) fn busiest(trace: &Trace, plan: &TracePlan, total: u64) -> Option<(ThreadId, u64)> {
    let threads = trace.threads();
    let recorded: u64 = threads.iter().map(|thread| thread.instructions).sum();
    let one = threads.iter().rev().max_by_key(|thread| thread.instructions)?;
    let own = match (plan, one.instructions) {
        (_, 0) => return None,
        (TracePlan::Whole, own) => own,
        (_, own) => (total as f64 * own as f64 / recorded as f64).round() as u64,
    };
    Some((one.id, own))
}

#[cfg(test)]
mod tests {
    use corun_trace::format::{Options, Writer};
    use corun_trace::{BlockId, Sink, decode};

    use super::*;

    /// A trace whose threads execute a block of two instructions so many times.
    fn trace(times: &[u32]) -> Trace {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let block =
            writer.define(decode(0x1000, &[0x48, 0xff, 0xc0, 0xeb, 0xfb]).unwrap()).unwrap();
        assert_eq!(block, BlockId(0));
        for (index, &times) in times.iter().enumerate() {
            let thread = writer.thread(100 + index as u32).unwrap();
            for _ in 0..times {
                writer.execute(thread, block, 2, &[]).unwrap();
            }
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    #[test]
    fn the_busiest_thread_has_its_part_of_the_run() {
        let three = trace(&[10, 30, 20]);
        assert_eq!(busiest(&three, &TracePlan::Whole, 120), Some((ThreadId(1), 60)));
        let windows = TracePlan::Samples {
            count: 1,
            length: 120,
            warm_up: 1,
            total: 1_200_000,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        assert_eq!(busiest(&three, &windows, 1_200_000), Some((ThreadId(1), 600_000)));
        assert_eq!(busiest(&trace(&[7, 7]), &TracePlan::Whole, 28), Some((ThreadId(0), 14)));
    }

    #[test]
    fn a_trace_without_instructions_has_no_busiest_thread() {
        assert_eq!(busiest(&trace(&[]), &TracePlan::Whole, 0), None);
        assert_eq!(busiest(&trace(&[0, 0]), &TracePlan::Whole, 0), None);
        let error = PredictError::TooShort { total: 3 };
        let message = "expected instructions to simulate, found none in a run of 3";
        assert_eq!(error.to_string(), message);
    }
}
