//! `corun fleet`: the same measurement on many nodes through Slurm: planned, submitted, watched, collected, reported.

mod campaign;
mod report;
mod submit;
mod task;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_fleet::slurm::{self, Queue, SlurmCommands};
use corun_fleet::{FleetError, collect, look, overview, status};
use corun_record::Exit;
use corun_store::Store;

use self::campaign::{CampaignArguments, StateArguments, SubmittedArguments};
use crate::answer::Answer;
use crate::options::JsonFile;
use crate::problem::{Problem, code};
use crate::{keeping, terminal};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show a campaign's job arrays, their batch script and what they cost; submits nothing
    Plan(PlanArguments),
    /// Submit the tasks of a campaign that have no answer yet, or run them here
    Submit(submit::Arguments),
    /// Show which tasks of each node are done, failed, waiting, running or missing
    Status(StateArguments),
    /// Keep the answers in the store, each once
    Collect(StateArguments),
    /// Show yield, best placement and verdict by hardware type, and the nodes that differ
    Report(report::Arguments),
    /// Cancel the tasks that wait or run
    Cancel(SubmittedArguments),
    /// Run one task on a node; the batch script calls it
    #[command(hide = true)]
    Task(task::Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    campaign: CampaignArguments,
    #[command(flatten)]
    json: JsonFile,
}

pub(super) fn run(action: &Action) -> Result<ExitCode, Problem> {
    match action {
        Action::Plan(arguments) => plan(arguments),
        Action::Submit(arguments) => submit::run(arguments),
        Action::Status(arguments) => show_status(arguments),
        Action::Collect(arguments) => keep(arguments),
        Action::Report(arguments) => report::run(arguments),
        Action::Cancel(arguments) => cancel(arguments),
        Action::Task(arguments) => task::run(arguments),
    }
}

/// Plan of a campaign's submission, and its cost.
fn plan(arguments: &PlanArguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(&arguments.json)?;
    let (directory, plan) = arguments.campaign.planned()?;
    answer.give(overview(&plan, &directory), corun_report::fleet_plan_to_terminal)?;
    Ok(code(Exit::Done))
}

/// The state of each node's tasks, from result files and Slurm's queue.
fn show_status(arguments: &StateArguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(&arguments.json)?;
    let (directory, plan) = arguments.campaign.read()?;
    let (found, queue) = look(&plan, &directory)?;
    let status = status(&plan, &directory, &found, queue.as_ref());
    answer.give(status, corun_report::fleet_status_to_terminal)?;
    Ok(code(Exit::Done))
}

/// The answers, kept in the store.
fn keep(arguments: &StateArguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(&arguments.json)?;
    let (directory, plan) = arguments.campaign.read()?;
    let Some(place) = keeping::place()? else {
        return Err(Problem::usage(
            "expected a store to collect into, found that nothing is to be kept",
            "Name the store with --store FILE.",
        ));
    };
    let (found, queue) = look(&plan, &directory)?;
    let collected = collect(&plan, &directory, &found, &mut Store::open(&place)?)?;
    let mut status = status(&plan, &directory, &found, queue.as_ref());
    status.collected = Some(collected);
    answer.give(status, corun_report::fleet_status_to_terminal)?;
    Ok(code(Exit::Done))
}

/// Cancels what waits or runs; answers stay.
fn cancel(arguments: &SubmittedArguments) -> Result<ExitCode, Problem> {
    let (_, plan) = arguments.read()?;
    let tasks = match slurm::queue(&SlurmCommands, &plan.campaign)? {
        Queue::Tasks(tasks) => tasks,
        Queue::Unknown(reason) => {
            return Err(FleetError::Slurm { program: "squeue".to_owned(), reason }.into());
        }
    };
    let jobs = slurm::cancel(&SlurmCommands, &tasks)?;
    let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
    terminal::show(&match ids.is_empty() {
        true => format!("No task of campaign {} waits or runs.\n", plan.campaign),
        false => {
            format!("Cancelled job arrays of campaign {}: {}.\n", plan.campaign, ids.join(", "))
        }
    })?;
    Ok(code(Exit::Done))
}
