//! `corun measure --resume`: an earlier run, with the options and in the folder that it was begun with.

use std::ffi::OsString;
use std::time::Duration;

use corun_measure::Earlier;
use corun_record::on_one_line;

use super::{Command, measure};
use crate::keeping::{self, Keeper};
use crate::parse;
use crate::problem::Problem;

/// A run to resume.
pub(super) struct Resumed {
    /// Arguments that it was begun with.
    pub(super) arguments: Box<measure::Arguments>,
    pub(super) earlier: Earlier,
    pub(super) keeper: Keeper,
}

/// The run of this name, perhaps with files that were replaced since.
///
/// # Errors
/// If there is none, or it cannot be resumed from here.
pub(super) fn resumed(name: &str, may_be_changed: bool) -> Result<Resumed, Problem> {
    let Some(mut store) = keeping::existing()? else {
        return Err(Problem::usage(
            "expected a run that ended early, found that no run is kept",
            "`corun measure COMMAND` begins one.",
        ));
    };
    let unfinished = store.resume(name)?;
    let here = std::env::current_dir().unwrap_or_default();
    if here.to_string_lossy() != unfinished.folder {
        let folder = on_one_line(&unfinished.folder);
        return Err(Problem::usage(
            format!("expected the folder in which {} was begun, {folder}", unfinished.id),
            format!("cd {folder}, and resume it there."),
        ));
    }
    let typed: Vec<OsString> = std::iter::once("corun".into()).chain(unfinished.line).collect();
    let Some(Command::Measure(arguments)) = parse::again(&typed)?.command else {
        return Err(Problem::usage(
            format!(
                "expected a run of `corun measure`, found {} of another command",
                unfinished.id
            ),
            "Begin a new run.",
        ));
    };
    let spent = Duration::try_from_secs_f64(unfinished.elapsed_s).unwrap_or_default();
    let earlier = Earlier { run: unfinished.run, spent, may_be_changed };
    Ok(Resumed { arguments, earlier, keeper: Keeper::going_on(store, unfinished.number) })
}
