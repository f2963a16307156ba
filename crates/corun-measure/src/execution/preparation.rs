//! A command before each sample, outside the timing: it makes what the program consumes, or empties a cache.

use std::time::Duration;

use corun_record::{Arm, Mode, Placement};

use super::Executor;
use super::error::ExecutionError;
use super::interrupt::Interrupt;
use super::local::LocalExecutor;
use super::work::{Command, Task, Work};
use crate::cores::Core;

/// The name of the arm that a preparation runs as, which no result shows.
const NAME: &str = "prepare";

/// A command that runs before each sample, placed by the kernel.
pub(super) struct Preparation(Box<LocalExecutor>);

impl Preparation {
    /// The preparation by a command; a run of it may take as long as a sample.
    pub(super) fn new(
        command: Command,
        work: &Work,
        cores: Vec<Core>,
        interrupt: &Interrupt,
    ) -> Result<Self, ExecutionError> {
        let listening = |error| ExecutionError::System("listen for an interruption", error);
        let own = Work {
            task: Task::Command(command),
            mode: Mode::WorkersTotal,
            steady: false,
            operations: 1.0,
            timeout: work.timeout,
            prepare: None,
        };
        let interrupt = interrupt.again().map_err(listening)?;
        Ok(Self(Box::new(LocalExecutor::new(own, cores, interrupt, None)?)))
    }

    /// From now on ends a run that takes longer than this.
    pub(super) fn limit(&mut self, longest: Duration) {
        self.0.limit_runs(longest);
    }

    /// Runs the command before a sample of `arm`, whose workers it is told.
    ///
    /// # Errors
    /// If it fails.
    pub(super) fn run(&mut self, arm: &Arm) -> Result<(), ExecutionError> {
        let placement = Placement::Free(Some(arm.workers));
        let free = Arm {
            id: NAME.to_owned(),
            placement,
            cores: 0,
            cpus: Vec::new(),
            idle_siblings: Vec::new(),
            ..arm.clone()
        };
        self.0.run(&free).map(drop)
    }
}
