//! `corun fleet`: the same measurement on many nodes through Slurm, a file each for what can be done with a campaign.

mod campaign;
mod cancel;
mod collect;
mod plan;
mod report;
mod status;
mod submit;
mod task;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show a campaign's job arrays, their batch script and what they cost; submits nothing
    Plan(plan::Arguments),
    /// Submit the tasks of a campaign that have no answer yet, or run them here
    Submit(submit::Arguments),
    /// Show which tasks of each node are done, failed, waiting, running or missing
    Status(campaign::StateArguments),
    /// Keep the answers in the store, each once
    Collect(campaign::StateArguments),
    /// Show yield, best placement and verdict by hardware type, and the nodes that differ
    Report(report::Arguments),
    /// Cancel the tasks that wait or run
    Cancel(cancel::Arguments),
    /// Run one task on a node; the batch script calls it
    #[command(hide = true)]
    Task(task::Arguments),
}

pub(super) fn run(action: &Action) -> Result<ExitCode, Problem> {
    match action {
        Action::Plan(arguments) => plan::run(arguments),
        Action::Submit(arguments) => submit::run(arguments),
        Action::Status(arguments) => status::run(arguments),
        Action::Collect(arguments) => collect::run(arguments),
        Action::Report(arguments) => report::run(arguments),
        Action::Cancel(arguments) => cancel::run(arguments),
        Action::Task(arguments) => task::run(arguments),
    }
}
