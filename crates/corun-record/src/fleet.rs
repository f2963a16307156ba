//! A campaign on many nodes: what it will do, and what became of each task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// Document that `corun fleet plan --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetPlan {
    /// The campaign's name.
    pub name: String,
    /// The shared directory.
    pub directory: String,
    /// Number of tasks.
    pub tasks: u32,
    /// The programs that they measure.
    pub programs: Vec<String>,
    /// The command of each task, in the order of their numbers.
    pub commands: Vec<Vec<String>>,
    /// The job arrays.
    pub jobs: Vec<FleetJob>,
    /// The batch script.
    pub script: String,
    /// The time limit of each task, in seconds.
    pub time_limit_s: u64,
    /// Duration of one run of the slowest program in the pilot, in seconds; absent where there was none.
    pub pilot_s: Option<f64>,
    /// Node hours if every task measured as long as it may.
    pub expected_node_hours: f64,
    /// Node hours if every task used its whole time limit.
    pub most_node_hours: f64,
    /// Remarks to read before it is submitted, a sentence each.
    pub remarks: Vec<String>,
}

/// A job array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetJob {
    /// The node; absent: any.
    pub node: Option<String>,
    /// `on`: all hardware threads; `nomultithread`: one of each core.
    pub smt: String,
    /// Number of tasks of the group.
    pub tasks: u32,
    /// The command that submits it.
    pub command: Vec<String>,
}

/// Document that `corun fleet status --json` and `corun fleet collect --json` write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetStatus {
    /// The campaign's id.
    pub campaign: String,
    /// The campaign's name.
    pub name: String,
    /// The shared directory.
    pub directory: String,
    /// Number of tasks by fate.
    pub tasks: FleetCounts,
    /// Fates of each node's tasks, in the order of their names.
    pub nodes: Vec<FleetNode>,
    /// The tasks that are not done.
    pub open: Vec<FleetTask>,
    /// Collected results; absent where that was not asked for.
    pub collected: Option<FleetCollection>,
    /// Remarks, a sentence each: damaged files, no answer from Slurm, CPUs that differ.
    pub remarks: Vec<String>,
}

/// Numbers of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetCounts {
    /// They have an answer.
    pub done: u32,
    /// They ended without one.
    pub failed: u32,
    /// They run.
    pub running: u32,
    /// They wait for a node.
    pub waiting: u32,
    /// They neither wait nor run, and left no result.
    pub missing: u32,
}

/// A node of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetNode {
    /// Name of the node; `any` for tasks that have no node yet.
    pub node: String,
    /// Number of its tasks by fate.
    pub tasks: FleetCounts,
    /// Why tasks failed or are missing, each reason once.
    pub reasons: Vec<String>,
}

/// Fate of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FleetFate {
    /// It has an answer.
    Done,
    /// It ended without one.
    Failed,
    /// It runs.
    Running,
    /// It waits for a node.
    Waiting,
    /// It neither waits nor runs, and left no result.
    Missing,
}

/// A task that is not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetTask {
    /// Number of the task, from 0.
    pub task: u32,
    /// The node it was last on, or is to run on.
    pub node: Option<String>,
    /// Program of the task.
    pub program: String,
    /// Fate of the task.
    pub fate: FleetFate,
    /// Why; absent where there is no more to say.
    pub reason: Option<String>,
}

/// Results collected into a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetCollection {
    /// The file of the store.
    pub store: String,
    /// Runs that were added now.
    pub added: u32,
    /// Runs that were there already.
    pub known: u32,
    /// The tag that all of them have.
    pub tag: String,
}

impl FleetCounts {
    /// Counts one more task.
    pub fn add(&mut self, fate: FleetFate) {
        *match fate {
            FleetFate::Done => &mut self.done,
            FleetFate::Failed => &mut self.failed,
            FleetFate::Running => &mut self.running,
            FleetFate::Waiting => &mut self.waiting,
            FleetFate::Missing => &mut self.missing,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> u32 {
        self.done + self.failed + self.running + self.waiting + self.missing
    }
}

impl Body for FleetPlan {
    const FORMAT: &'static str = "corun-fleet-plan";
}

impl Body for FleetStatus {
    const FORMAT: &'static str = "corun-fleet-status";
}
