//! Schedules: what a scheduler model says of loads under policies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;
use crate::scheduling::ScheduledTimeline;

/// Document that `corun schedule --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The simulated machine.
    pub simulated_machine: ScheduledMachine,
    /// Slowdown of siblings by each other, as one sentence.
    pub siblings: String,
    /// Costs of the kernel's work.
    pub costs: Vec<ScheduledCost>,
    /// The runs, by load, policy and seed.
    pub runs: Vec<ScheduledRun>,
    /// Who ran where under each policy, for the first seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<ScheduledTimeline>,
}

/// The simulated machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledMachine {
    /// Title, in one line.
    pub title: String,
    /// Packages.
    pub packages: u32,
    /// Cores.
    pub cores: u32,
    /// Logical CPUs.
    pub logical_cpus: u32,
    /// Logical CPUs of the widest core.
    pub smt_width: u32,
}

/// A cost of the kernel's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledCost {
    /// Name of the policy on the command line.
    pub name: String,
    /// Nanoseconds of work alone on a core.
    pub nanoseconds: u64,
}

/// A load under a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledRun {
    /// The policy's name.
    pub policy: String,
    /// The load with its parameters.
    pub load: String,
    /// The seed of all that is random.
    pub seed: u64,
    /// True if all was done before the time was over.
    pub finished: bool,
    /// True if it ended before, since all tasks that were left waited for each other, or for what
    /// never comes.
    #[serde(default)]
    pub stuck: bool,
    /// From the start until the last that was waited for, in seconds.
    pub makespan_s: f64,
    /// Meaning of an operation.
    pub operation: String,
    /// Operations that were done.
    pub operations: u64,
    /// Operations a second.
    pub throughput: f64,
    /// The share of all logical CPUs' time that was used, from 0 to 1.
    pub utilization: f64,
    /// Jain's index of the tasks' speeds while they could run: 1 if all were equal.
    pub fairness: f64,
    /// The mean share of a logical CPU that a task had while it could run.
    pub cpu_share: f64,
    /// The share of a logical CPU that each task with work had while it could run, largest first, as `top` lists them;
    /// empty where there were more than 64.
    #[serde(default)]
    pub shares: Vec<f64>,
    /// Tasks that there were.
    pub tasks: u64,
    /// Changes from one task to another.
    pub switches: u64,
    /// Tasks that went on elsewhere.
    pub migrations: ScheduledMigrations,
    /// The longest that a task waited for a logical CPU, in seconds.
    pub longest_wait_s: f64,
    /// From being woken to running.
    pub wake_up: Option<ScheduledTimes>,
    /// From the begin of an operation to its end.
    pub latency: Option<ScheduledTimes>,
    /// Each logical CPU that the policy uses.
    pub cpus: Vec<ScheduledCpu>,
    /// Each core.
    pub cores: Vec<ScheduledCore>,
}

/// Tasks that went on elsewhere, by how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledMigrations {
    /// On a sibling.
    pub same_core: u64,
    /// On another core of the same last-level cache.
    pub same_cache: u64,
    /// Beyond it.
    pub elsewhere: u64,
}

/// A distribution of times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledTimes {
    /// Number of them.
    pub count: u64,
    /// The mean.
    pub mean_s: f64,
    /// The median.
    pub p50_s: f64,
    /// 95 of 100 were no longer.
    pub p95_s: f64,
    /// 99 of 100 were no longer.
    pub p99_s: f64,
    /// 999 of 1000 were no longer.
    pub p999_s: f64,
    /// The longest.
    pub max_s: f64,
}

/// A logical CPU's time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledCpu {
    /// The kernel's number.
    pub cpu: u32,
    /// With a task.
    pub busy_s: f64,
    /// With a task, and a sibling with one.
    pub beside_sibling_s: f64,
    /// Of the kernel's own work, as it takes alone on a core.
    pub kernel_s: f64,
}

/// A core's time, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledCore {
    /// The numbers of its logical CPUs that the policy uses.
    pub cpus: Vec<u32>,
    /// With a task on one at least.
    pub busy_s: f64,
    /// With tasks on several.
    pub shared_s: f64,
}

impl ScheduledMigrations {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.same_core + self.same_cache + self.elsewhere
    }
}

impl Body for Schedule {
    const FORMAT: &str = "corun-schedule";
}
