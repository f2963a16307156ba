//! Layout of a campaign's shared directory, and the form of a result file.
//!
//! ```text
//! DIRECTORY/
//!   plan.json                       the plan: campaign id, tasks, the arguments of each (`Plan`)
//!   corun                           the binary that travels; its SHA-256 is in the plan
//!   job.sh                          the batch script
//!   logs/JOB_INDEX.log              what a task wrote to its standard output and error
//!   attempts/TASK.ATTEMPT.json      one file for each attempt that began (`Attempt`)
//!   results/TASK.ATTEMPT.json       one file for each attempt that ended, done or failed (`TaskResult`)
//!   chosen/TASK                     a symbolic link to the result that counts for a task
//!   kept/TASK.db                    of a sweep of predictions: the store with the finished cells of a task
//! ```
//!
//! TASK has five digits or more and counts from 0. ATTEMPT is `JOB-RESTARTS` under Slurm, such as `4711-0`, and
//! `local-PROCESS-SECONDS` on this machine. Files get their names when they are complete and on the disk, so a
//! file that cannot be read is damaged and counts as if it were not there. Several results of one task are
//! possible (requeued, run twice): exactly one of them counts, see [`crate::results::counted`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A campaign's shared directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory(PathBuf);

impl Directory {
    /// The directory at this absolute path.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of the plan.
    pub fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    /// The binary that travels with the campaign.
    pub fn binary(&self) -> PathBuf {
        self.0.join("corun")
    }

    /// The batch script.
    pub fn script(&self) -> PathBuf {
        self.0.join("job.sh")
    }

    /// The folder with the standard output and error of the tasks.
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// The folder with a file for each attempt that began.
    pub fn attempts(&self) -> PathBuf {
        self.0.join("attempts")
    }

    /// The folder with a file for each attempt that ended.
    pub fn results(&self) -> PathBuf {
        self.0.join("results")
    }

    /// The folder with a store for each task that keeps what it has finished.
    pub fn kept(&self) -> PathBuf {
        self.0.join("kept")
    }

    /// The folder with a link for each task whose result was chosen.
    pub fn chosen(&self) -> PathBuf {
        self.0.join("chosen")
    }
}

/// The name of a task in names of files.
pub fn task_name(task: u32) -> String {
    format!("{task:05}")
}

/// The name of an attempt's files in `attempts/` and `results/`.
pub fn attempt_file(task: u32, attempt: &str) -> String {
    format!("{}.{attempt}.json", task_name(task))
}

/// An attempt to run a task, from its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The id of the campaign.
    pub campaign: String,
    /// The number of the task, from 0.
    pub task: u32,
    /// The name of this attempt; no other attempt of the task has it.
    pub attempt: String,
    /// The node: what Slurm calls it (`SLURMD_NODENAME`), else the host name.
    pub node: String,
    /// Slurm's job id, where there is one.
    pub job: Option<String>,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// The logical CPUs of the node that are online, as a list such as `0-7`.
    pub online_cpus: String,
    /// The logical CPUs that the task may use.
    pub allowed_cpus: String,
    /// Mistake in the CPUs that the task may use, in one sentence.
    pub cpus_differ: Option<String>,
}

/// End of an attempt: a file in `results/`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskResult {
    /// Always [`TaskResult::FORMAT`].
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The attempt.
    pub attempt: Attempt,
    /// End, UTC, RFC 3339.
    pub ended: String,
    /// Why there is no complete answer, in one sentence; `None`: the task is done.
    pub failure: Option<String>,
    /// The document that corun wrote (for `corun measure` a `corun-run`), as it was written. A task that failed
    /// may have one of the part that was finished.
    pub document: Option<Box<RawValue>>,
}

impl TaskResult {
    /// The `format` of its JSON.
    pub const FORMAT: &'static str = "corun-fleet-result";
    /// The `version` that this program writes.
    pub const VERSION: u32 = 1;

    /// True if the task has its whole answer.
    pub fn is_done(&self) -> bool {
        self.failure.is_none() && self.document.is_some()
    }
}
