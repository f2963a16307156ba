//! `corun smt-watchdog`: started by a corun that switches SMT, to restore it should that corun die.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_machine::switch::serve_as_watchdog;
use corun_record::Exit;

use crate::problem::code;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// File of the state to bring back
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    code(if serve_as_watchdog(&arguments.folder) { Exit::Done } else { Exit::Failed })
}
