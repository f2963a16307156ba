//! The engine without Slurm: the same tasks, one after another, on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::attempt::{self, Ran, Runner};
use crate::error::FleetError;
use crate::layout::{Directory, TaskResult};
use crate::plan::Plan;
use crate::{results, submission};

/// Runs the tasks that are left, and reports how each ended. A signal ends it after the task that runs.
///
/// # Errors
/// If a result cannot be written.
pub fn run(
    plan: &Plan,
    directory: &Directory,
    is_stopped: &Arc<AtomicBool>,
    mut ended: impl FnMut(&TaskResult),
) -> Result<(), FleetError> {
    let found = results::read(plan, directory)?;
    for task in submission::left(plan, directory, &found, &[]) {
        if let Ran::Ended(result) =
            attempt::run(plan, directory, task, Runner::local(), is_stopped)?
        {
            ended(&result);
        }
        if is_stopped.load(Ordering::SeqCst) {
            break;
        }
    }
    Ok(())
}
