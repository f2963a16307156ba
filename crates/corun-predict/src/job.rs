//! The input of a prediction.

use std::path::PathBuf;
use std::time::Duration;

use corun_machine::Machine;
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{Caveat, PageSize};
use corun_trace::{Chosen, SystemCall, Target};

use crate::Sampling;

/// The program to predict, the core to predict it on, and the options.
pub struct Job<'a> {
    /// The program.
    pub target: Target,
    /// The core model.
    pub model: &'a CoreModel,
    /// The source of the last-level cache's and the memory's parameters.
    pub memory: MemoryOf,
    /// The fields of the model that the user set; fitting leaves them unchanged.
    pub set: &'a [(String, String)],
    /// The core's instruction timings.
    pub timings: &'a TimingTable,
    /// The reason for choosing this core, as one sentence.
    pub reason: String,
    /// The caveats about the model, one sentence each.
    pub caveats: Vec<Caveat>,
    /// The tracer.
    pub tracer: Chosen<'a>,
    /// The system call whose first return starts the measured part of the run; none to start at the beginning.
    pub from: Option<SystemCall>,
    /// The part of the run that is simulated.
    pub sampling: Sampling,
    /// The page size of the program's data in the simulation.
    pub pages: PageSize,
    /// The time budget of native measurement; none to skip it.
    pub measure_for: Option<Duration>,
    /// The file in which the trace is kept; none to discard it.
    pub keep: Option<PathBuf>,
    /// The host.
    pub machine: &'a Machine,
}

/// The source of the parameters of the last-level cache and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOf {
    /// The model's own values.
    Model,
    /// Values fitted to this host, probed between the measured runs.
    Host,
}
