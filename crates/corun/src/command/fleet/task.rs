//! `corun fleet task`: one task of a campaign, started by the batch script on its node.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::Args;
use corun_fleet::layout::Directory;
use corun_fleet::{Plan, Runner, TaskEnd};
use corun_record::Exit;

use crate::problem::{Problem, code, say};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The campaign's directory
    directory: PathBuf,
    /// The number of the job array's first task
    first: u32,
    /// The task's index in the job array
    index: u32,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let directory = Directory::new(arguments.directory.clone());
    let plan = Plan::read(&directory.plan())?;
    let runner = Runner::of_slurm(|name| std::env::var(name).ok())?;
    let number = arguments.first.saturating_add(arguments.index);
    let ran = corun_fleet::run(&plan, &directory, number, runner, &AtomicBool::new(false))?;
    Ok(code(match ran {
        TaskEnd::DoneBefore => {
            say(&format!("corun: task {number} has an answer of an earlier attempt"));
            Exit::Done
        }
        TaskEnd::Ended(result) => match result.failure {
            None => Exit::Done,
            Some(failure) => {
                say(&format!("corun: task {number} failed on {}: {failure}", result.attempt.node));
                Exit::Failed
            }
        },
    }))
}
