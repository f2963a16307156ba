//! `corun bench show`: one workload in full.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, Record};

use crate::answer::{Answer, this_machine};
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The workload's name
    #[arg(value_name = "NAME")]
    name: String,
    /// Write it as JSON to FILE (`-`, the default, is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let workload = corun_workload::description(corun_workload::find(&arguments.name)?);
    let answer = Answer::open(arguments.json.as_deref())?;
    let shown = Record { machine: Some(this_machine()?), ..answer.record(workload) };
    answer.write(&shown, |shown, columns| corun_report::describe_workload(&shown.body, columns))?;
    Ok(code(Exit::Done))
}
