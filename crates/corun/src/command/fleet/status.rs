//! `corun fleet status`: the state of each node's tasks, from result files and Slurm's queue.

use std::process::ExitCode;

use corun_fleet::layout::Directory;
use corun_fleet::results::{self, Found};
use corun_fleet::slurm::{self, Queue, SlurmCommands};
use corun_fleet::{FleetError, Plan, status};
use corun_record::Exit;

use super::campaign::StateArguments;
use crate::answer::Answer;
use crate::problem::{Problem, code};

pub(super) fn run(arguments: &StateArguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let (directory, plan) = arguments.campaign.read()?;
    let (found, queue) = looked_at(&plan, &directory)?;
    let status = status(&plan, &directory, &found, queue.as_ref());
    answer.give(status, corun_report::fleet_status_to_terminal)?;
    Ok(code(Exit::Done))
}

/// The files of a campaign, and the queue where it may matter: Slurm is installed, and the campaign was not run here alone.
///
/// # Errors
/// If the directory cannot be read.
pub(super) fn looked_at(
    plan: &Plan,
    directory: &Directory,
) -> Result<(Found, Option<Queue>), FleetError> {
    let found = results::read(plan, directory)?;
    // A Slurm that is installed and not configured takes a minute to say so.
    if !found.attempts.is_empty() && found.attempts.iter().all(|it| it.job.is_none()) {
        return Ok((found, None));
    }
    let queue = match slurm::queue(&SlurmCommands, &plan.campaign) {
        Err(FleetError::NoCommand { .. }) => None,
        queue => Some(queue?),
    };
    // Again: a task that ended in between has its result.
    Ok((results::read(plan, directory)?, queue))
}
