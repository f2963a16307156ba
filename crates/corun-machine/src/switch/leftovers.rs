//! Bringing back what corun has left switched: by request, or because it died.

use corun_record::SmtState;

use super::access::{SwitchOptions, held, system_files, take_lock, this_process, unfinished};
use super::error::SwitchError;
use super::refusal::refuse;
use super::restore::restore;
use super::runtime::{Runtime, State};
use crate::Machine;

/// Changes that [`restore_left`] has undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The state SMT is in now.
    pub smt: SmtState,
    /// True if a corun that died had left it.
    pub was_unfinished: bool,
}

/// Brings back what corun has left switched: by `smt off` or `smt on`, or by dying.
///
/// # Errors
/// If there is nothing to bring back, this user may not, or not everything came back.
pub fn restore_left(options: &SwitchOptions) -> Result<Restored, SwitchError> {
    let mut files = system_files()?;
    let runtime = Runtime::of_system();
    if unfinished(&runtime)?.or(held(&runtime)?).is_none() && runtime.is_locked().is_none() {
        return Err(SwitchError::NothingToRestore);
    }
    let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
    refuse(&mut files, &machine)?;
    let _lock = take_lock(&runtime, options.wait, &this_process())?;
    let (unfinished, held) = (unfinished(&runtime)?, held(&runtime)?);
    let was_unfinished = unfinished.is_some();
    // What is held was there before what was not finished, unless it had been undone by hand.
    let in_force = |held: &State| {
        unfinished.as_ref().is_none_or(|unfinished| held.before.smt != unfinished.before.smt)
    };
    let oldest = held.filter(in_force).or(unfinished).ok_or(SwitchError::NothingToRestore)?;
    let left = restore(&mut files, &oldest.before);
    if !left.is_empty() {
        return Err(SwitchError::NotRestored(left));
    }
    runtime.finish().and_then(|()| runtime.let_go()).map_err(|source| {
        SwitchError::NotForgotten { folder: runtime.folder().to_owned(), source }
    })?;
    Ok(Restored { smt: oldest.before.smt, was_unfinished })
}

/// The state SMT was in before `smt off` or `smt on` was asked for, while that change stays.
pub fn held_from() -> Option<SmtState> {
    let state = Runtime::of_system().held().ok().flatten()?;
    Some(state.before.smt)
}
