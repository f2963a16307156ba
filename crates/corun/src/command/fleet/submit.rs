//! `corun fleet submit`: the tasks that have no answer yet, as job arrays or here.

use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use corun_fleet::layout::{Directory, TaskResult};
use corun_fleet::slurm::SlurmCommands;
use corun_fleet::{FleetError, Plan, local, prepare, submit};
use corun_record::Exit;

use super::campaign::{CampaignArguments, Engine};
use crate::parse::line_of;
use crate::problem::{Problem, code};
use crate::{interruption, terminal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: CampaignArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let (directory, plan) = arguments.campaign.planned()?;
    let corun = std::env::current_exe()
        .map_err(|source| FleetError::File { path: "/proc/self/exe".into(), source })?;
    let plan = prepare(plan, &directory, &corun)?;
    match arguments.campaign.engine {
        Engine::Slurm => submitted(&plan, &directory),
        Engine::Local => run_here(&plan, &directory),
    }
}

fn submitted(plan: &Plan, directory: &Directory) -> Result<ExitCode, Problem> {
    let submitted = submit(&SlurmCommands, plan, directory)?;
    let said = match submitted.tasks {
        0 => "Nothing was submitted: every task has an answer, waits or runs.\n".to_owned(),
        tasks => {
            let jobs: Vec<String> = submitted.jobs.iter().map(ToString::to_string).collect();
            format!(
                "Campaign {}: {tasks} of {} tasks were submitted in {} {}: {}.\n",
                plan.campaign,
                plan.tasks.len(),
                jobs.len(),
                if jobs.len() == 1 { "job array" } else { "job arrays" },
                jobs.join(", ")
            )
        }
    };
    terminal::show(&format!("{said}{}", next_lines(directory, "status")))?;
    Ok(code(Exit::Done))
}

fn run_here(plan: &Plan, directory: &Directory) -> Result<ExitCode, Problem> {
    let is_stopped: Arc<AtomicBool> = interruption::flag_on_signals()?;
    let (mut done, mut failed, mut broken) = (0, 0, None);
    local::run(plan, directory, &is_stopped, |result| {
        let number = result.attempt.task;
        match result.is_done() {
            true => done += 1,
            false => failed += 1,
        }
        let said = format!("task {number} of {}: {}\n", plan.tasks.len(), said_of(result));
        if let Err(error) = terminal::show(&said) {
            broken.get_or_insert(error);
        }
    })?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    let said = format!("Campaign {}: done {done}, failed {failed}.\n", plan.campaign);
    terminal::show(&format!("{said}{}", next_lines(directory, "collect")))?;
    Ok(code(match (is_stopped.load(Ordering::SeqCst), failed) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Done,
        (false, _) => Exit::Failed,
    }))
}

fn said_of(result: &TaskResult) -> String {
    result.failure.as_ref().map_or_else(|| "done".to_owned(), |it| format!("failed: {it}"))
}

fn next_lines(directory: &Directory, action: &str) -> String {
    let words = ["corun", "fleet", action].map(OsStr::new);
    format!("  {}\n", line_of(words.into_iter().chain([directory.path().as_os_str()])))
}
