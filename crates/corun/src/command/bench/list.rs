//! `corun bench list`: the registry, for a person or as JSON for a program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, Record, WorkloadList};

use super::selection::{SuiteChoice, TagArguments};
use crate::answer::{Answer, this_machine};
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    tags: TagArguments,
    /// Write what `corun bench show` says of each as JSON to FILE (`-`, the default, is
    /// standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let workloads = arguments.tags.workloads(SuiteChoice::All)?;
    let answer = Answer::open(arguments.json.as_deref())?;
    let workloads = workloads.into_iter().map(corun_workload::description).collect();
    let list =
        Record { machine: Some(this_machine()?), ..answer.record(WorkloadList { workloads }) };
    answer.write(&list, |list, columns| corun_report::list_workloads(&list.body, columns))?;
    Ok(code(Exit::Done))
}
