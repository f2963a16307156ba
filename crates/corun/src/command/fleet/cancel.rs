//! `corun fleet cancel`: what of a campaign waits or runs ends; answers stay.

use std::process::ExitCode;

use clap::Args;
use corun_fleet::FleetError;
use corun_fleet::slurm::{self, Queue, SlurmCommands};
use corun_record::Exit;

use super::campaign::SubmittedArguments;
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: SubmittedArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let (_, plan) = arguments.campaign.read()?;
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
