//! Executor: the interface to run the arms of an experiment.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Arm, Evidence, Latency, Sample, WorkerSample};

use super::ExecutionError;

/// Outcome of one run of an arm.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmOutcome {
    /// T: from the common start until the last worker ended.
    pub makespan: Duration,
    /// X: work done per second by all workers.
    pub throughput: f64,
    /// Other counts of the same work, per second, by what is counted.
    pub rates: BTreeMap<String, f64>,
    /// Latencies of parts of the work, by kind.
    pub latencies: BTreeMap<String, Latency>,
    /// Samples of each worker.
    pub workers: Vec<WorkerSample>,
    /// Evidence beside the time.
    pub evidence: Evidence,
}

impl ArmOutcome {
    /// The sample of the arm with this id, run at this position of a block.
    pub(crate) fn into_sample(self, block: u32, position: u32, arm: String) -> Sample {
        Sample {
            block,
            position,
            arm,
            makespan_s: self.makespan.as_secs_f64(),
            throughput: self.throughput,
            rates: self.rates,
            latencies: self.latencies,
            workers: self.workers,
            evidence: self.evidence,
        }
    }
}

/// Runs arms, and knows how late it is.
pub trait Executor {
    /// Runs `arm` once, from the common start of its workers until the last one ended.
    ///
    /// # Errors
    /// If a worker fails, cannot be placed, or the user interrupts.
    fn run(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError>;

    /// From now on ends a run that takes longer than this, unless it is to end earlier anyway.
    fn limit_runs(&mut self, _longest: Duration) {}

    /// From now on ends a run that takes longer than this, in place of the limit before; what is prepared before a
    /// run has the time that [`limit_runs`](Self::limit_runs) leaves it.
    fn end_slow_runs(&mut self, _longest: Duration) {}

    /// Time since the executor was made.
    fn elapsed(&self) -> Duration;
}
