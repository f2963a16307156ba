//! Giving a campaign its directory: plan, binary and script, written once; what is left to run is found again.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::Path;

use corun_files::Output;
use corun_record::json_text;

use crate::binary;
use crate::error::FleetError;
use crate::layout::Directory;
use crate::plan::Plan;
use crate::results::{self, CampaignFiles};
use crate::slurm::{self, Commands, Queue};

/// Makes the directory of a campaign, or finds the plan of the same campaign in it.
///
/// # Errors
/// If it has another campaign, or cannot be written.
pub fn prepare(plan: Plan, directory: &Directory, corun: &Path) -> Result<Plan, FleetError> {
    if let Some(earlier) = existing(directory)? {
        return match earlier.has_tasks_of(&plan) {
            true => Ok(earlier),
            false => Err(FleetError::OtherCampaign {
                path: directory.path().to_owned(),
                name: earlier.name,
            }),
        };
    }
    if directory.path().to_str().is_none() || plan.folder.to_str().is_none() {
        return Err(FleetError::Plan(
            "expected directories whose names are UTF-8, found other bytes".to_owned(),
        ));
    }
    let folders = [directory.logs(), directory.attempts(), directory.results(), directory.chosen()];
    for folder in folders {
        std::fs::create_dir_all(&folder).map_err(FleetError::file(&folder))?;
    }
    let binary_sha256 = binary::copy(corun, &directory.binary())?;
    let campaign = format!("{:08x}", rand::random::<u32>());
    let plan = Plan { campaign, binary_sha256, ..plan };
    write(&directory.script(), &slurm::script(&plan, directory))?;
    // The last file: a directory without it is no campaign yet.
    write(&directory.plan(), &json_text(&plan))?;
    Ok(plan)
}

/// The plan in a directory, if there is one.
///
/// # Errors
/// If there is a file that is none.
pub fn existing(directory: &Directory) -> Result<Option<Plan>, FleetError> {
    match directory.plan().try_exists() {
        Ok(false) => Ok(None),
        Ok(true) => Plan::read(&directory.plan()).map(Some),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(FleetError::file(&directory.plan())(error)),
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), FleetError> {
    let written = || {
        let mut output = Output::create(path)?;
        output.write_all(text.as_bytes())?;
        output.finish()
    };
    written().map_err(FleetError::file(path))
}

/// The tasks that have no answer and neither wait nor run, in their order.
pub fn left(
    plan: &Plan,
    directory: &Directory,
    found: &CampaignFiles,
    queue: &[slurm::QueuedTask],
) -> Vec<u32> {
    let done = results::counted(directory, found);
    let active: BTreeSet<u32> =
        queue.iter().filter(|it| it.is_active()).map(|it| it.task).collect();
    plan.numbers().filter(|task| !done.contains_key(task) && !active.contains(task)).collect()
}

/// Jobs that were submitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submitted {
    /// The ids of the job arrays.
    pub jobs: Vec<u64>,
    /// Number of their tasks.
    pub tasks: usize,
}

/// Submits the tasks that are left. After a failure the same call submits what is still left.
///
/// # Errors
/// If Slurm does not answer, or takes a job array not.
pub fn submit(
    commands: &impl Commands,
    plan: &Plan,
    directory: &Directory,
) -> Result<Submitted, FleetError> {
    let queue = match slurm::queue(commands, &plan.campaign)? {
        Queue::Tasks(tasks) => tasks,
        // What waits already would be submitted twice.
        Queue::Unknown(reason) => {
            return Err(FleetError::Slurm { program: "squeue".to_owned(), reason });
        }
    };
    let found = results::read(plan, directory)?;
    let left = left(plan, directory, &found, &queue);
    let mut submitted = Submitted::default();
    for job in &plan.jobs {
        let range = job.first..job.first + job.count;
        let tasks: Vec<u32> = left.iter().copied().filter(|it| range.contains(it)).collect();
        if !tasks.is_empty() {
            submitted.jobs.push(slurm::submit(commands, plan, directory, job, &tasks)?);
            submitted.tasks += tasks.len();
        }
    }
    Ok(submitted)
}
