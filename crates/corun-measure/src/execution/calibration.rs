//! Number of operations that a worker must do for a sample to last long enough.

use std::time::Duration;

use corun_record::Arm;

use super::error::ExecutionError;
use super::local::LocalExecutor;
use super::{ArmOutcome, Executor};

/// The most operations that any kernel takes.
const MAX_OPERATIONS: f64 = 1e18;

/// Operations of all workers together in the first run.
const FIRST_OPERATIONS: u64 = 1000;

/// The most sizes that are tried: a machine that is held up all the time settles on none.
const MAX_TRIALS: usize = 30;

/// Sets the executor's operations so that a run of `arm` takes about `seconds`, or longer where
/// `least_operations` do. From `deadline` on the latest size is good enough.
///
/// # Errors
/// If the arm cannot be run.
pub fn calibrate(
    executor: &mut LocalExecutor,
    arm: &Arm,
    seconds: f64,
    least_operations: u64,
    deadline: Duration,
) -> Result<u64, ExecutionError> {
    // Each worker does them, so that many workers begin with fewer.
    let first = FIRST_OPERATIONS / u64::from(arm.workers.max(1));
    let mut operations = least_operations.max(first).max(1);
    for _ in 0..MAX_TRIALS {
        executor.set_operations(operations);
        let mut seen = f64::INFINITY;
        // A run that seems long enough may only have been held up by others: the least of some counts.
        for _ in 0..RUNS_TO_SETTLE {
            seen = seen.min(time_of_a_run(&executor.run(arm)?));
            if !next(operations, seen, seconds).settled || executor.elapsed() >= deadline {
                break;
            }
        }
        let step = next(operations, seen, seconds);
        let is_least = operations == least_operations && step.operations <= least_operations;
        operations = step.operations.max(least_operations);
        if step.settled || is_least || executor.elapsed() >= deadline {
            break;
        }
    }
    executor.set_operations(operations);
    Ok(operations)
}

/// Runs of which the shortest is taken as how long that many operations take.
const RUNS_TO_SETTLE: usize = 3;

/// The seconds that each worker's operations take. Steady workers repeat theirs until all have done them once, so that the
/// makespan grows with how late the last of them begins.
fn time_of_a_run(outcome: &ArmOutcome) -> f64 {
    let runs: u64 = outcome.workers.iter().map(|worker| u64::from(worker.runs)).sum();
    if runs <= outcome.workers.len() as u64 {
        return outcome.makespan.as_secs_f64();
    }
    outcome.workers.iter().map(|worker| worker.seconds).sum::<f64>() / runs as f64
}

#[derive(Debug, PartialEq)]
struct Step {
    operations: u64,
    settled: bool,
}

/// From a run of so many operations that took `seen` to the number for the next. The last run takes
/// half of the wanted time at least and twice at most, so that nothing far off is extrapolated to.
fn next(operations: u64, seen: f64, wanted: f64) -> Step {
    let factor = wanted / seen.max(1e-9);
    let at_an_end = operations as f64 >= MAX_OPERATIONS || (operations == 1 && factor < 1.0);
    let settled = (0.5..=2.0).contains(&factor) || at_an_end;
    let scaled = operations as f64 * if settled { factor } else { factor.min(100.0) };
    Step { operations: round(scaled.clamp(1.0, MAX_OPERATIONS)), settled }
}

/// Two significant digits: more serves no purpose, and reports stay readable.
fn round(operations: f64) -> u64 {
    let unit = 10_f64.powf(operations.log10().floor() - 1.0).max(1.0);
    ((operations / unit).round() * unit) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use corun_record::{Evidence, WorkerSample};

    use super::*;

    #[test]
    fn short_runs_grow_and_long_ones_settle() {
        assert_eq!(next(1000, 1e-6, 0.2), Step { operations: 100_000, settled: false });
        assert_eq!(next(1_000_000, 0.1, 0.2), Step { operations: 2_000_000, settled: true });
        assert_eq!(next(10_000, 0.02, 0.2), Step { operations: 100_000, settled: false });
        assert_eq!(next(1000, 4.0, 0.2), Step { operations: 50, settled: false });
        assert_eq!(next(1, 4.0, 0.2), Step { operations: 1, settled: true });
        assert_eq!(next(u64::MAX / 2, 0.0, 0.2).operations, 1_000_000_000_000_000_000);
    }

    #[test]
    fn a_steady_worker_that_begins_late_makes_no_run_long() {
        let worker = |runs, seconds| WorkerSample {
            runs,
            seconds,
            subtracted_s: None,
            cpus: BTreeMap::new(),
            check: None,
        };
        let outcome = |workers| ArmOutcome {
            makespan: Duration::from_millis(90),
            throughput: 0.0,
            rates: BTreeMap::new(),
            latencies: BTreeMap::new(),
            workers,
            evidence: Evidence::default(),
        };
        let each_once = outcome(vec![worker(1, 0.05), worker(1, 0.09)]);
        assert_eq!(time_of_a_run(&each_once), 0.09);
        let one_late = outcome(vec![worker(4499, 0.09), worker(1, 0.09)]);
        assert!((time_of_a_run(&one_late) - 40e-6).abs() < 1e-9);
    }

    #[test]
    fn two_digits_are_kept() {
        assert_eq!(round(123_456.0), 120_000);
        assert_eq!(round(7.4), 7);
    }
}
