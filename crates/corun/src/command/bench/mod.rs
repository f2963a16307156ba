//! `corun bench`: the built-in workloads: listed, described, run.

mod design;
mod memory_hierarchy;
mod run;
mod selection;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_record::{Exit, Record, WorkloadList};

pub(super) use memory_hierarchy::SWEEP;

use self::selection::{SuiteChoice, TagArguments};
use crate::answer::{Answer, this_machine};
use crate::options::JsonFile;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    // Alone, it lists.
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in workloads: what each does and what it exercises
    List(ListArguments),
    /// Describe a workload: its operation, its parameters and their defaults
    Show(ShowArguments),
    /// Run workloads and show how fast each is, and what sharing a core does to it
    Run(run::Arguments),
    /// Measure latency and bandwidth by size, from the L1D to memory
    MemoryHierarchy(memory_hierarchy::Arguments),
}

impl Arguments {
    /// True if its answer is kept in the store.
    pub(super) fn is_kept(&self) -> bool {
        match &self.action {
            Some(Action::Run(_) | Action::MemoryHierarchy(_)) => true,
            Some(Action::List(_) | Action::Show(_)) | None => false,
        }
    }
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    tags: TagArguments,
    #[command(flatten)]
    json: JsonFile,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// The workload's name
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    json: JsonFile,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.action {
        None => arguments.list.run(),
        Some(Action::List(arguments)) => arguments.run(),
        Some(Action::Show(arguments)) => arguments.run(),
        Some(Action::Run(arguments)) => run::run(arguments),
        Some(Action::MemoryHierarchy(arguments)) => memory_hierarchy::run(arguments),
    }
}

impl ListArguments {
    fn run(&self) -> Result<ExitCode, Problem> {
        let workloads = self.tags.workloads(SuiteChoice::All)?;
        let answer = Answer::open(&self.json)?;
        let workloads = workloads.into_iter().map(corun_workload::description).collect();
        let list =
            Record { machine: Some(this_machine()?), ..answer.record(WorkloadList { workloads }) };
        answer.write(&list, |list, columns| corun_report::list_workloads(&list.body, columns))?;
        Ok(code(Exit::Done))
    }
}

impl ShowArguments {
    fn run(&self) -> Result<ExitCode, Problem> {
        let workload = corun_workload::description(corun_workload::find(&self.name)?);
        let answer = Answer::open(&self.json)?;
        let shown = Record { machine: Some(this_machine()?), ..answer.record(workload) };
        answer.write(&shown, |shown, columns| {
            corun_report::describe_workload(&shown.body, columns)
        })?;
        Ok(code(Exit::Done))
    }
}
