//! Job arrays: the batch script, the arguments of `sbatch`, and cancelling.
//!
//! The script holds only the directory and the campaign's flags. Jobs are found again by their names, which have
//! the campaign's id, so that a submission that was interrupted loses no job.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;

use super::commands::Commands;
use super::indices;
use super::queue::QueuedTask;
use crate::error::FleetError;
use crate::layout::Directory;
use crate::plan::{Job, Plan};

/// The batch script of all job arrays of a campaign.
pub fn script(plan: &Plan, directory: &Directory) -> String {
    let mut text = String::from("#!/bin/sh\n");
    let minutes = plan.time_limit_s.div_ceil(60);
    let mut options = vec![
        "--nodes=1".to_owned(),
        "--ntasks=1".to_owned(),
        "--exclusive".to_owned(),
        "--mem=0".to_owned(),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--time={minutes}"),
    ];
    options.extend(plan.partition.iter().map(|it| format!("--partition={it}")));
    for option in options {
        let _ = writeln!(text, "#SBATCH {option}");
    }
    let quoted = |path: &std::path::Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let _ = write!(
        text,
        "# $1 is the number of the array's first task in plan.json. Slurm's hints bind steps only, hence srun.\n\
         exec >>{}/\"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID.log\" 2>&1\n\
         exec srun --ntasks=1 --cpus-per-task=\"$SLURM_CPUS_ON_NODE\" --mpi=none \\\n    \
         {} \\\n    fleet task {} \\\n    \"$1\" \"$SLURM_ARRAY_TASK_ID\"\n",
        quoted(&directory.logs()),
        quoted(&directory.binary()),
        quoted(directory.path()),
    );
    text
}

/// The name of a job array: who reads the queue finds the campaign and the first task in it.
pub fn job_name(campaign: &str, first: u32) -> String {
    format!("corun-{campaign}-{first}")
}

/// The number of the first task of a job with this name, if it is of this campaign.
pub(super) fn first_task(name: &str, campaign: &str) -> Option<u32> {
    name.strip_prefix("corun-")?.strip_prefix(campaign)?.strip_prefix('-')?.parse().ok()
}

/// The arguments of `sbatch` for the tasks of a job array that are still to be run, ascending.
pub fn arguments(plan: &Plan, directory: &Directory, job: &Job, tasks: &[u32]) -> Vec<OsString> {
    let indices: Vec<u32> = tasks.iter().map(|task| task - job.first).collect();
    let mut words: Vec<OsString> = vec!["--parsable".into()];
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    option("--job-name", job_name(&plan.campaign, job.first).into());
    option("--array", indices::to_text(&indices).into());
    option("--hint", job.smt.hint().into());
    if let Some(node) = &job.node {
        option("--nodelist", node.into());
    }
    option("--chdir", directory.logs().into());
    // Slurm would replace `%j` and the like in the directory's own name: the script opens its log itself.
    option("--output", "/dev/null".into());
    words.extend(plan.sbatch.iter().map(Into::into));
    words.push(directory.script().into());
    words.push(job.first.to_string().into());
    words
}

/// Submits tasks of a job array; gives Slurm's id of it.
///
/// # Errors
/// If `sbatch` fails, or says no id.
pub fn submit(
    commands: &impl Commands,
    plan: &Plan,
    directory: &Directory,
    job: &Job,
    tasks: &[u32],
) -> Result<u64, FleetError> {
    let output =
        commands.run("sbatch", &arguments(plan, directory, job, tasks))?.output_of("sbatch")?;
    // The id, and with several clusters the name of one after it.
    let id = output.trim().split(';').next().unwrap_or_default();
    id.parse().map_err(|_| FleetError::Slurm {
        program: "sbatch".to_owned(),
        reason: format!("expected a job id, found {output:?}"),
    })
}

/// Cancels what of a campaign waits or runs; gives the ids of the job arrays.
///
/// # Errors
/// If `scancel` fails.
pub fn cancel(commands: &impl Commands, tasks: &[QueuedTask]) -> Result<Vec<u64>, FleetError> {
    let jobs: BTreeSet<u64> = tasks.iter().filter(|it| it.is_active()).map(|it| it.job).collect();
    if !jobs.is_empty() {
        let arguments: Vec<OsString> = jobs.iter().map(|it| it.to_string().into()).collect();
        commands.run("scancel", &arguments)?.output_of("scancel")?;
    }
    Ok(jobs.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::commands::fake::Fake;
    use super::*;
    use crate::campaign::Campaign;
    use crate::plan::Facts;

    fn plan() -> Plan {
        let campaign = Campaign::from_toml(
            "it.toml",
            "format = \"corun-campaign\"\nversion = 1\nname = \"a 'b'\\nc\"\npartition = \"main\"\nrepeats = 9\n\
             smt = [\"nomultithread\"]\nsbatch = [\"--account=a b\"]\n[[program]]\ncommand = [\"x; rm\"]\n",
        );
        let facts = Facts { nodes: vec!["n1".to_owned()], ..Facts::default() };
        Plan { campaign: "1a2b".to_owned(), ..Plan::of(&campaign.unwrap(), facts).unwrap() }
    }

    fn directory() -> Directory {
        Directory::new(PathBuf::from("/shared/it's \"here\"\n100 %"))
    }

    #[test]
    fn the_script_quotes_the_directory_and_holds_no_command() {
        insta::assert_snapshot!(script(&plan(), &directory()));
    }

    #[test]
    fn tasks_that_are_left_are_submitted_as_one_array() {
        let fake = Fake::answering([Ok("17;cluster\n"), Ok("what?\n"), Err("Invalid partition")]);
        let plan = plan();
        let submitted = || submit(&fake, &plan, &directory(), &plan.jobs[0], &[0, 2, 3, 4, 8]);
        assert_eq!(submitted().unwrap(), 17);
        let line = fake.asked();
        assert!(matches!(submitted(), Err(FleetError::Slurm { .. })));
        assert_eq!(submitted().unwrap_err().to_string(), "sbatch failed: Invalid partition");
        insta::assert_snapshot!(line);
    }

    #[test]
    fn a_job_of_another_campaign_is_no_job_of_this_one() {
        assert_eq!(first_task(&job_name("1a2b", 3000), "1a2b"), Some(3000));
        for name in ["corun-1a2b", "corun-1a2bc-0", "corun-1a2b-x", "1a2b-0", ""] {
            assert_eq!(first_task(name, "1a2b"), None, "{name}");
        }
    }

    #[test]
    fn only_what_waits_or_runs_is_cancelled() {
        let task = |job: u64, state: &str| QueuedTask {
            task: 0,
            job,
            state: state.to_owned(),
            reason: None,
            node: None,
            exit: None,
        };
        let fake = Fake::answering([Ok("")]);
        let tasks =
            [task(7, "RUNNING"), task(7, "PENDING"), task(5, "COMPLETED"), task(3, "PENDING")];
        assert_eq!(cancel(&fake, &tasks).unwrap(), [3, 7]);
        assert_eq!(fake.asked(), "scancel 3 7");
        assert!(cancel(&fake, &tasks[2..3]).unwrap().is_empty());
    }
}
