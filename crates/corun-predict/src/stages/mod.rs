//! The stages of a prediction: each is a type that is made from the output of earlier stages.

mod beside;
mod caveats;
mod extrapolate;
mod fit;
mod kept;
mod measure;
mod measure_siblings;
mod probe_memory;
mod profile;
mod report;
mod rounds;
mod simulate;
mod stacked;
mod threads;
mod trace;

use std::path::Path;

use corun_trace::{SystemCall, Target};

use crate::Job;

pub(crate) use beside::{BesideRun, CoreRuns, SampledRuns};
pub(crate) use extrapolate::ExtrapolatedRun;
pub(crate) use fit::FittedModel;
pub use kept::{PredictedTrace, predict_trace};
pub(crate) use measure::{MeasuredOther, MeasuredProgram};
pub use measure_siblings::MeasureSiblings;
pub(crate) use measure_siblings::SiblingRuns;
pub(crate) use probe_memory::MemoryProbe;
pub(crate) use profile::ProfiledRun;
pub(crate) use report::Report;
pub(crate) use rounds::simulate_rounds;
pub(crate) use simulate::SimulatedRun;
pub(crate) use stacked::{StackedRun, stacked};
pub use threads::Workers;
pub(crate) use threads::{ThreadTraces, ThreadsRun};
pub(crate) use trace::RecordedRun;

/// A program that is traced: the predicted one, or the one beside it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The program.
    pub(crate) target: &'a Target,
    /// The system call at which it begins to count.
    pub(crate) from: Option<SystemCall>,
    /// Path at which the trace is kept.
    pub(crate) keep: Option<&'a Path>,
}

impl<'a> Subject<'a> {
    /// The predicted program.
    pub(crate) fn predicted(job: &'a Job<'_>) -> Self {
        Self { target: &job.target, from: job.from, keep: job.keep.as_deref() }
    }

    /// Another one, from its start; its trace is not kept.
    pub(crate) fn beside(target: &'a Target) -> Self {
        Self { target, from: None, keep: None }
    }
}
