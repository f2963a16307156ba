//! `corun bench show`: one workload in full.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use corun_report::Destination;

use super::list::Entry;
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The workload's name
    #[arg(value_name = "NAME")]
    name: String,
    /// Write it as JSON to FILE (`-`, the default, is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let workload = corun_workload::find(&arguments.name)?;
    let destination = arguments.json.as_deref().map(Destination::open).transpose()?;
    match destination {
        Some(destination) => destination.write(&corun_record::json_text(&Entry::of(workload)))?,
        None => terminal::show(&corun_report::describe(workload, terminal::width()))?,
    }
    Ok(code(Exit::Done))
}
