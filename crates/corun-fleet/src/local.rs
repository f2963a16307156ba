//! The engine without Slurm: the same tasks, one after another, on this machine.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::attempt::{self, Runner, TaskEnd};
use crate::error::FleetError;
use crate::layout::{Directory, TaskResult};
use crate::plan::Plan;
use crate::{results, submission};

/// Runs the tasks that are left, and reports how each ended, until `is_stopped` is set: a signal ends the task that runs.
///
/// # Errors
/// If a result cannot be written.
pub fn run(
    plan: &Plan,
    directory: &Directory,
    is_stopped: &AtomicBool,
    mut ended: impl FnMut(&TaskResult),
) -> Result<(), FleetError> {
    let found = results::read(plan, directory)?;
    for task in submission::left(plan, directory, &found, &[]) {
        if is_stopped.load(Ordering::SeqCst) {
            break;
        }
        let ran = attempt::run(plan, directory, task, Runner::local(), is_stopped)?;
        if let TaskEnd::Ended(result) = ran {
            ended(&result);
        }
    }
    Ok(())
}
