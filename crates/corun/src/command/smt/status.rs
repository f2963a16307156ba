//! `corun smt status`: the switch and what hangs on it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_machine::switch::{Runtime, SmtStatus};
use corun_machine::{MachineError, RootFiles};
use corun_record::{Exit, Record};

use crate::answer::{Answer, this_machine};
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write it as JSON to FILE (`-`, the default, is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let root = Path::new("/");
    let mut files = RootFiles::open(root)
        .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
    let status = SmtStatus::read(&mut files, &Runtime::of_system())
        .ok_or_else(|| MachineError::NoCpus { root: root.to_owned() })?;
    let record = Record { machine: Some(this_machine()?), ..answer.record(status) };
    answer.write(&record, |record, _| record.body.to_text())?;
    Ok(code(Exit::Done))
}
