//! List of what can be scheduled as a document, and who ran where as a picture has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// List of `corun schedule list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulingList {
    /// The policies.
    pub policies: Vec<ListedPolicy>,
    /// The loads.
    pub loads: Vec<ListedLoad>,
    /// The costs of the kernel's own work that can be set.
    pub costs: Vec<ListedCost>,
}

/// A policy of the scheduler model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPolicy {
    /// Name of the policy, as the command line takes it.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// Kernel source that it is modelled on.
    pub source: String,
}

/// A load of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedLoad {
    /// Name of the load, as the command line takes it.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// True if it is read from a file.
    pub is_file: bool,
    /// Parameters; nothing of a file.
    pub parameters: Vec<LoadParameter>,
}

/// A parameter of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadParameter {
    /// Name of the parameter.
    pub name: String,
    /// Default value.
    pub default: String,
    /// Meaning of the parameter.
    pub meaning: String,
}

/// A cost of the kernel's own work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedCost {
    /// Name of the cost, as the command line takes it.
    pub name: String,
    /// Work that has the cost.
    pub meaning: String,
}

/// Who ran where in a run: what a Gantt chart shows. A run may have millions of intervals; of those, documents hold what a
/// picture can show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledTimeline {
    /// The load with its parameters.
    pub load: String,
    /// The policy's name.
    pub policy: String,
    /// The kernel's numbers of the logical CPUs that the policy uses.
    pub cpus: Vec<u32>,
    /// The logical CPUs of each core, by their places in `cpus`.
    pub cores: Vec<Vec<usize>>,
    /// The names of the load's programs.
    pub programs: Vec<String>,
    /// When which task ran on which logical CPU.
    pub intervals: Vec<ScheduledInterval>,
    /// The whole time in nanoseconds.
    pub makespan_ns: u64,
}

/// A time in which a task ran on a logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledInterval {
    /// The logical CPU, by its place in the timeline's `cpus`.
    pub cpu: usize,
    /// The task, by how many were created before it.
    pub task: u64,
    /// Program of the task, by its place in the timeline's `programs`.
    pub program: usize,
    /// When it began, in nanoseconds.
    pub begin_ns: u64,
    /// When it ended, in nanoseconds.
    pub end_ns: u64,
}

impl ScheduledTimeline {
    /// The load and the policy.
    pub fn title(&self) -> String {
        format!("{}, {}", self.load, self.policy)
    }
}

impl Body for SchedulingList {
    const FORMAT: &str = "corun-scheduling";
}
