//! Activity of a machine's CPUs and tasks in an interval: the document of `corun top`.
//!
//! A core of S logical CPUs had 0 to S of them busy at a time. How long it had each number decides how much of its
//! capacity was used; the busy share of each logical CPU alone does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// A machine over an interval. All shares are of the interval's length, 0 to 1, unless a field says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The interval's length, in seconds.
    pub interval_s: f64,
    /// Evidence for which siblings were busy at the same time.
    pub co_busy: CoBusyEvidence,
    /// The cores, in the order of their lowest logical CPU; a core without an online CPU is absent.
    pub cores: Vec<CoreActivity>,
    /// Used share of the machine's capacity.
    pub capacity: CapacityUse,
    /// The tasks that used a CPU, the busiest first.
    pub tasks: Vec<TaskActivity>,
    /// The tasks that could not be read, or were left out.
    pub tasks_not_seen: u64,
    /// True if `/proc` hides the tasks of other users (its option hidepid), so that how many there are is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tasks_hidden: bool,
}

impl Body for Activity {
    const FORMAT: &'static str = "corun-activity";
}

/// Method that found the times with several busy siblings, and its uncertainty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoBusyEvidence {
    /// The source.
    pub method: CoBusyMethod,
    /// The largest error that a share of a core may have at 95 % confidence, in shares of the interval.
    pub error: f64,
    /// Cost of the method, in shares of one CPU.
    pub cost: f64,
    /// Why a more exact source was not used, as one sentence; absent if none is more exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_exact_because: Option<String>,
}

/// Method that found the times with several busy siblings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoBusyMethod {
    /// Not known: only that each share lies between its bounds.
    #[default]
    Bounds,
    /// Sampled from /proc.
    Sampled,
    /// Every switch of a task was seen (`sched_switch`).
    Exact,
}

/// A core over an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreActivity {
    /// The core's number, as in `corun topo`.
    pub core: u32,
    /// The package that the core is in.
    pub package: Option<u32>,
    /// Logical CPUs that are online, in the order of their numbers.
    pub cpus: Vec<CpuActivity>,
    /// The shares of time with 0, 1, ... S of its logical CPUs busy; their sum is 1.
    pub busy_siblings: Vec<f64>,
}

impl CoreActivity {
    /// The share of time with no logical CPU busy.
    pub fn idle(&self) -> f64 {
        self.busy_siblings.first().copied().unwrap_or(1.0)
    }

    /// The share of time with exactly one logical CPU busy.
    pub fn one_busy(&self) -> f64 {
        self.busy_siblings.get(1).copied().unwrap_or(0.0)
    }

    /// The share of time with two or more logical CPUs busy.
    pub fn co_busy(&self) -> f64 {
        self.busy_siblings.iter().skip(2).sum()
    }
}

/// A logical CPU over an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuActivity {
    /// Number of the logical CPU.
    pub cpu: u32,
    /// In programs' own code.
    pub user: f64,
    /// In the kernel, interrupts included.
    pub system: f64,
    /// Idle, waiting for a disk included.
    pub idle: f64,
    /// Work was there, but the hypervisor ran something else.
    pub steal: f64,
}

impl CpuActivity {
    /// The share of time in programs, the kernel and interrupts.
    pub fn busy(&self) -> f64 {
        self.user + self.system
    }
}

/// Capacity used, as a share of what the machine can do, for yields between two values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityUse {
    /// The busy share that the kernel reports: the mean over logical CPUs.
    pub reported: f64,
    /// The least share of capacity that was used.
    pub used_low: f64,
    /// The largest share of capacity that was used.
    pub used_high: f64,
    /// The yields that the range holds for.
    pub yields: YieldRange,
}

/// The SMT yields that are possible: X(full)/X(spread).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct YieldRange {
    /// The least.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Source of the yields.
    pub source: YieldSource,
}

impl Default for YieldRange {
    fn default() -> Self {
        Self { low: 1.0, high: 1.0, source: YieldSource::Any }
    }
}

/// Source of the yields of a capacity range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum YieldSource {
    /// Any from 1 to the SMT width.
    Any,
    /// The user gave them.
    Given,
    /// `corun capacity` measured them on this machine.
    Measured,
    /// They were predicted for a core model.
    Predicted,
}

/// A thread over an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskActivity {
    /// The thread's number.
    pub thread: u32,
    /// The number of its process.
    pub process: u32,
    /// The process that started its process.
    pub parent: u32,
    /// Name of the task, as the kernel gives it (15 bytes at most).
    pub name: String,
    /// Control group, from the root of the hierarchy; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// The logical CPU that it ran on last.
    pub cpu: u32,
    /// The logical CPUs that it was seen on in the interval, in the order of their numbers.
    pub cpus: Vec<u32>,
    /// User time, in shares of one CPU.
    pub user: f64,
    /// System time, in shares of one CPU.
    pub system: f64,
    /// Number of migrations between CPUs; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// The share of its own running time beside at least one busy sibling; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_busy: Option<f64>,
    /// The threads that ran on its siblings meanwhile, those with most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Companion>,
}

impl TaskActivity {
    /// Processor time, in shares of one CPU.
    pub fn used(&self) -> f64 {
        self.user + self.system
    }
}

/// A thread that ran on a sibling at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Companion {
    /// Number of the thread.
    pub thread: u32,
    /// Name of the thread.
    pub name: String,
    /// Time in which both ran, in shares of the interval.
    pub together: f64,
}
