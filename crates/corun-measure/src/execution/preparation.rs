//! A command before each sample, outside the timing: it makes what the program consumes, or empties a cache.

use std::time::Duration;

use corun_record::{Arm, Mode, Placement};

use super::Executor;
use super::error::ExecutionError;
use super::work::{Task, Work};

/// The name of the arm that a preparation runs as, which no result shows.
const NAME: &str = "prepare";

/// A command that runs before each sample, placed by the kernel, with the executor of its work.
pub(super) struct Preparation<E>(Box<E>);

/// The work of a command before each sample of `work`, where it has one; a run of it may take as long as a sample.
pub(super) fn work_before(work: &Work) -> Option<Work> {
    work.prepare.clone().map(|command| Work {
        task: Task::Command(command),
        mode: Mode::WorkersTotal,
        steady: false,
        operations: 1.0,
        timeout: work.timeout,
        prepare: None,
    })
}

impl<E: Executor> Preparation<E> {
    /// The preparation that this executor runs.
    pub(super) fn new(executor: E) -> Self {
        Self(Box::new(executor))
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
