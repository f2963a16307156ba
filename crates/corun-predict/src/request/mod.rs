//! The request of a prediction: the program, the cores, what runs beside it, and how much is simulated.

mod checks;
mod cores;
mod each;
mod error;
mod prepared;
mod process;
mod program;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corun_record::{PageSize, Placement};
use corun_trace::SystemCall;

use crate::{Effort, MemoryOf, Sampling};

pub use cores::CoreVariant;
pub(crate) use each::predict_each;
pub use error::PredictRequestError;
pub use prepared::PreparedPrediction;
pub(crate) use process::FollowedTarget;
pub(crate) use program::command_target;
pub use program::{ProgramRequest, TracedProgram};

/// The time of a round of windows, at least.
const ROUND: Duration = Duration::from_secs(15);
/// The part of the time that is for measuring on siblings.
const PART_ON_SIBLINGS: u32 = 3;

/// The program to predict, the cores to predict it on, and the options.
#[derive(Debug, Clone)]
pub struct PredictRequest {
    /// The program.
    pub program: ProgramRequest,
    /// The core models, by name or file; this host's own, if none.
    pub models: Vec<String>,
    /// Fields of the models that are set otherwise.
    pub settings: Vec<(String, String)>,
    /// The source of the last-level cache's and the memory's parameters; this host's for its own core if it is measured, unless
    /// one is named.
    pub memory: Option<MemoryOf>,
    /// The placements that are compared.
    pub placements: Vec<Placement>,
    /// True if each worker of a command with `{workers}` does work of its own (`--work per-worker`).
    pub per_worker: bool,
    /// Another program on the sibling, in place of a copy.
    pub beside: Option<Vec<OsString>>,
    /// Fields of the models that are changed for one more prediction each.
    pub what_if: Vec<(String, String)>,
    /// Chooses where windows lie, how far apart copies run, and where pages lie.
    pub seed: u64,
    /// The part of the run that is simulated; as much as fits into the time, if none is named.
    pub sampling: Option<Sampling>,
    /// The system call whose first return starts the part that counts.
    pub from: Option<SystemCall>,
    /// The page size of the program's data in the simulation.
    pub pages: PageSize,
    /// The tracer's name; the first that works, if none.
    pub tracer: Option<String>,
    /// Wall limit.
    pub max_time: Duration,
    /// The half-width of the slowdown's interval, as a part of it, from which on no further round is needed.
    pub target: f64,
    /// The measurements on this machine.
    pub measuring: Measuring,
    /// The file in which the trace is kept.
    pub keep: Option<PathBuf>,
    /// The standard input of this process, which a command without one of its own reads.
    pub standard_input: StandardInput,
}

/// The standard input of this process, as far as a program that runs several times is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandardInput {
    /// A file, by this path, that each run reads from its start.
    File(PathBuf),
    /// A pipe or a socket, which one run can read.
    Pipe,
    /// Anything else; runs that are not traced find it empty.
    Other,
}

/// The measurements of the program on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measuring {
    /// Nothing.
    Nothing,
    /// The program alone.
    Alone,
    /// The program alone, and beside copies of itself on siblings.
    Siblings,
    /// Siblings recorded with the yield, which is of this host's own core and its model as it is.
    RecordedSiblings,
}

impl Measuring {
    fn measures_siblings(self) -> bool {
        matches!(self, Self::Siblings | Self::RecordedSiblings)
    }
}

impl PredictRequest {
    /// The usual prediction of a program: alone and beside a copy, on this host's own core, with what is measured of it here.
    pub fn new(program: ProgramRequest) -> Self {
        Self {
            program,
            models: Vec::new(),
            settings: Vec::new(),
            memory: None,
            placements: vec![Placement::Spread(None), Placement::Full(None)],
            per_worker: false,
            beside: None,
            what_if: Vec::new(),
            seed: 1,
            sampling: None,
            from: None,
            pages: PageSize::Small,
            tracer: None,
            max_time: Duration::from_secs(60),
            target: 0.05,
            measuring: Measuring::Alone,
            keep: None,
            standard_input: StandardInput::Other,
        }
    }

    /// True if a placement has a busy sibling.
    fn has_siblings(&self) -> bool {
        !self.placements.iter().all(|it| is_alone(it) || *it == Placement::Stacked)
    }

    fn time_to_measure(&self) -> Duration {
        match self.has_siblings() {
            true => self.time_to_simulate() / self.rounds() / 6,
            false => self.max_time / 3,
        }
    }

    /// The time that is left where the program is also measured on siblings.
    fn time_to_simulate(&self) -> Duration {
        match self.measuring.measures_siblings() {
            true => self.max_time - self.max_time / PART_ON_SIBLINGS,
            false => self.max_time,
        }
    }

    /// Rounds of windows that fit into the time. The other program's windows, and those of a trace that is kept, are
    /// recorded once.
    fn rounds(&self) -> u32 {
        if self.beside.is_some() || self.keep.is_some() || !self.has_siblings() {
            return 1;
        }
        (self.time_to_simulate().as_secs() / ROUND.as_secs()).clamp(1, 100) as u32
    }

    /// The part of the run that is simulated.
    fn sampling(&self) -> Sampling {
        match self.sampling {
            Some(sampling) => sampling,
            None if self.placements.iter().all(is_alone) => {
                let seconds = self.time_to_simulate().as_secs_f64();
                Sampling::Fitting(Effort::FULL.within(seconds).whole_in(seconds))
            }
            None => {
                // Each placement of each core is simulated, also with each change.
                let alone = self.placements.iter().filter(|it| is_alone(it)).count();
                let placements = (self.placements.len() - alone).max(1);
                let times = self.models.len().max(1) * placements * (1 + self.what_if.len());
                let seconds = self.time_to_simulate().as_secs_f64() / times as f64;
                let of_round = seconds / f64::from(self.rounds());
                Sampling::Fitting(Effort::in_seconds(of_round, self.seed).whole_in(seconds))
            }
        }
    }
}

/// True if a placement leaves the siblings idle, and its CPUs to one worker each.
fn is_alone(placement: &Placement) -> bool {
    matches!(placement, Placement::Single | Placement::Spread(None))
}
