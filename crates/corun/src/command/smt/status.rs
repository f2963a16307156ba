//! `corun smt status`: the switch and what hangs on it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_machine::switch::{Runtime, SmtStatus};
use corun_machine::{MachineError, RootFiles};
use corun_record::Exit;
use corun_report::Destination;

use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write it as JSON to FILE (`-`, the default, is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let destination = arguments.json.as_deref().map(Destination::open).transpose()?;
    let root = Path::new("/");
    let mut files = RootFiles::open(root)
        .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
    let status = SmtStatus::read(&mut files, &Runtime::of_system())
        .ok_or_else(|| MachineError::NoCpus { root: root.to_owned() })?;
    match destination {
        Some(destination) => destination.write(&status.to_json())?,
        None => terminal::show(&status.to_text())?,
    }
    Ok(code(Exit::Done))
}
