//! The input of a prediction.

use std::path::PathBuf;
use std::time::Duration;

use corun_machine::Machine;
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{Caveat, PageSize, Placement, TracedWorkload};
use corun_trace::{SystemCall, Target, TracerSelection};

use crate::{MeasureSiblings, Sampling, TimeLimit, Workers};

/// A core to predict on.
pub struct Core<'a> {
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
    /// True if it is this host's own, so that what was measured is compared with what is predicted.
    pub is_own: bool,
    /// The caveats about the model, one sentence each.
    pub caveats: Vec<Caveat>,
}

/// Load beside the program, and its place.
#[derive(Default)]
pub struct Beside {
    /// Placements with busy siblings: `full`, `full@K` and `packed`; none to predict the program alone.
    pub placements: Vec<Placement>,
    /// True if copies that take turns on one hardware thread are predicted, too.
    pub stacked: bool,
    /// The program with the number of its threads in its command; copies of it run, if none.
    pub workers: Option<Workers>,
    /// The program on the other hardware thread; copies of the predicted one, if none.
    pub other: Option<Target>,
    /// Fields of the model that are changed for one more prediction each.
    pub what_if: Vec<(String, String)>,
    /// Chooses how far apart copies run.
    pub seed: u64,
}

/// The program to predict, the cores to predict it on, and the options.
pub struct Job<'a> {
    /// The program.
    pub target: Target,
    /// The caveats about its processes and those of the other program.
    pub caveats: Vec<Caveat>,
    /// True if it works for a time, so that a slower run does less.
    pub is_timed: bool,
    /// The built-in workload that it runs, if it is one.
    pub workload: Option<TracedWorkload>,
    /// The cores, the first of which the program is measured for.
    pub cores: Vec<Core<'a>>,
    /// Load beside it.
    pub beside: Beside,
    /// The tracer.
    pub tracer: TracerSelection<'a>,
    /// The system call whose first return starts the measured part of the run; none to start at the beginning.
    pub from: Option<SystemCall>,
    /// The part of the run that is simulated.
    pub sampling: Sampling,
    /// Rounds of windows that are simulated at most; each is a recorded run of its own.
    pub rounds: u32,
    /// The half-width of the slowdown's interval, as a part of it, from which on no further round is needed.
    pub precision: f64,
    /// The page size of the program's data in the simulation.
    pub pages: PageSize,
    /// The time budget of native measurement; none to skip it.
    pub measure_for: Option<Duration>,
    /// Measurement of the yield on siblings of this host; none to skip it.
    pub measure_siblings: Option<MeasureSiblings<'a>>,
    /// The file in which the trace is kept; none to discard it.
    pub keep: Option<PathBuf>,
    /// Number of simulations of one core that run at a time.
    pub jobs: usize,
    /// Wall limit.
    pub limit: TimeLimit,
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
