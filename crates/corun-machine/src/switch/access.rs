//! Access that every use of the switch begins with: the live system, the lock, what is written down.

use std::path::Path;

use super::error::SwitchError;
use super::runtime::{Holder, Lock, LockError, Runtime, State};
use super::tasks;
use crate::RootFiles;

/// Options of a use of the switch.
#[derive(Debug, Clone, Default)]
pub struct SwitchOptions {
    /// Go on although cpusets of version 1 lose CPUs: they are put back afterwards.
    pub repair_cpusets: bool,
    /// Wait for another corun that is switching.
    pub wait: bool,
}

/// The live system.
pub(super) fn system_files() -> Result<RootFiles, SwitchError> {
    RootFiles::open(Path::new("/")).map_err(|_| SwitchError::NoMachine)
}

/// The lock, or why it is not to be had.
pub(super) fn take_lock(
    runtime: &Runtime,
    wait: bool,
    holder: &Holder,
) -> Result<Lock, SwitchError> {
    // Waiting for an ancestor would never end: it waits for this process.
    if let Some(outer) = runtime.is_locked().flatten().filter(tasks::is_ancestor) {
        return Err(SwitchError::Nested(outer));
    }
    runtime.lock(wait, holder).map_err(|error| match error {
        LockError::Held(holder) => SwitchError::Busy(holder),
        LockError::Io(source) => SwitchError::State { file: runtime.folder().to_owned(), source },
    })
}

/// The change that has to be undone.
pub(super) fn unfinished(runtime: &Runtime) -> Result<Option<State>, SwitchError> {
    runtime
        .unfinished()
        .map_err(|source| SwitchError::Unreadable { file: runtime.unfinished_file(), source })
}

/// The change that stays until it is restored.
pub(super) fn held(runtime: &Runtime) -> Result<Option<State>, SwitchError> {
    runtime.held().map_err(|source| SwitchError::Unreadable { file: runtime.held_file(), source })
}

/// This process, as other processes see it.
pub(super) fn this_process() -> Holder {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    Holder { process: std::process::id(), command: words.collect::<Vec<_>>().join(" ") }
}
