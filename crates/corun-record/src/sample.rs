//! One sample: one arm run once in one block, with the evidence of what disturbed it.
//!
//! Samples are kept raw and complete; nothing is dropped. Analysis reads them and can be repeated
//! from a stored run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One arm, run once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The block, from 0.
    pub block: u32,
    /// The position within the block's random order, from 0.
    pub position: u32,
    /// The arm's id.
    pub arm: String,
    /// T: from the common start until the last worker ended, in seconds.
    pub makespan_s: f64,
    /// X: work done per second by all workers, in the workload's operations.
    pub throughput: f64,
    /// Other counts of the same work, per second of all workers, by what is counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, f64>,
    /// Latencies of parts of the work, by kind, all workers together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies: BTreeMap<String, Latency>,
    /// Samples of each worker, in worker order.
    pub workers: Vec<WorkerSample>,
    /// Evidence beside the time.
    pub evidence: Evidence,
}

impl Sample {
    /// The energy of the CPU packages for one operation, in joules, where the machine counts it.
    pub fn joules_per_operation(&self) -> Option<f64> {
        let operations = self.throughput * self.makespan_s;
        self.evidence.package_joules.map(|joules| joules / operations)
    }
}

/// Latencies of the parts of one kind in one sample. What a load generator did not say is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The time within which half of them ended, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_s: Option<f64>,
    /// The time within which 90 % of them ended, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_s: Option<f64>,
    /// The time within which 99 % of them ended, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_s: Option<f64>,
    /// The longest, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_s: Option<f64>,
}

impl Latency {
    /// The names of the [`quantiles`](Self::quantiles).
    pub const QUANTILES: [&str; 4] = ["p50", "p90", "p99", "max"];

    /// The quantiles, in seconds.
    pub fn quantiles(self) -> [Option<f64>; 4] {
        [self.p50_s, self.p90_s, self.p99_s, self.max_s]
    }
}

/// One worker of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerSample {
    /// From the common start until this worker ended its (last counted) work, in seconds.
    pub seconds: f64,
    /// Overhead subtracted from the time of a built-in workload, in seconds: what its loop takes
    /// without its operations, timed right after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtracted_s: Option<f64>,
    /// Counted runs of the work: 1, or more under `--steady`.
    pub runs: u32,
    /// CPUs on which the worker was seen, each with the number of times; one entry for a pinned worker.
    #[schemars(with = "BTreeMap<u32, u32>")]
    pub cpus: BTreeMap<u32, u32>,
    /// The check value of a built-in workload, as hexadecimal.
    pub check: Option<String>,
}

/// Evidence from before, during and after a sample. A field is absent where the machine does not show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Pinning of the workers.
    pub pinning: Pinning,
    /// The clock of every used CPU, probed on all of them at once before and after the run.
    pub clocks: Vec<ClockProbe>,
    /// Mean clock of the used CPUs while not halted during the run, from APERF/MPERF, in GHz.
    pub aperf_ghz: Option<f64>,
    /// Time the hypervisor took from the used CPUs, in seconds.
    pub steal_s: Option<f64>,
    /// Moves of the workers between CPUs.
    pub migrations: Option<u64>,
    /// Voluntary context switches of a worker (it waited).
    pub voluntary_switches: u64,
    /// Involuntary context switches of a worker (it was preempted).
    pub involuntary_switches: u64,
    /// Time in which some task waited for a CPU, machine-wide, in seconds.
    pub cpu_pressure_s: Option<f64>,
    /// Time for which a worker was ready to run and waited for its CPU, beyond what wake-ups take, as
    /// a fraction of its time: of the worker that waited most, by the scheduler's own account.
    /// Workers that share a CPU also wait for each other.
    #[serde(default)]
    pub cpu_wait: Option<f64>,
    /// Share of its time for which the hypervisor took a used CPU, of the one that lost most; absent where the kernel counts too
    /// coarsely for a run this short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// The busiest of the siblings that should be idle: busy time as a fraction of the sample's
    /// time; absent where the kernel counts too coarsely for a run this short.
    pub idle_sibling_busy: Option<f64>,
    /// Time that used CPUs spent on other work than the workers', as a fraction of their time; absent
    /// where the kernel counts too coarsely for a run this short.
    pub foreign_busy: Option<f64>,
    /// Throughput without the time that other work took from the workers.
    #[serde(default, skip_serializing_if = "Undisturbed::is_unknown")]
    pub undisturbed: Undisturbed,
    /// Busy logical CPUs of the machine, by `/proc/stat`, the mean over the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_cpus: Option<f64>,
    /// CPU time of the workers in user mode, in seconds.
    pub user_s: f64,
    /// CPU time of the workers in the kernel, in seconds.
    pub system_s: f64,
    /// The largest resident set of a worker process, in bytes.
    pub max_resident_bytes: u64,
    /// Page faults that needed input or output.
    pub major_faults: u64,
    /// The NUMA nodes the workers' memory was bound to; absent where it was not bound.
    pub memory_nodes: Option<Vec<u32>>,
    /// Hardware counters of the workers, by name.
    pub counters: BTreeMap<String, u64>,
    /// Of a service: how close its load generator came to its own limit. Its CPU time as a fraction of
    /// all time of its CPUs, or of one CPU's for its busiest thread, whichever is larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_busy: Option<f64>,
    /// Energy of the processor packages during the run, machine-wide, in joules.
    pub package_joules: Option<f64>,
    /// Workers that did not keep the place that corun gave them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub displaced: Vec<Displaced>,
    /// Parts of the command that are known to set the affinity of its processes by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub binds_itself: Vec<String>,
    /// Processes that a command left running when it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<LeftRunning>,
}

/// Throughput without the time that other work took, by two quantities; each is absent where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Undisturbed {
    /// By elapsed time, less the time for which each worker, alone on a CPU of its own, was ready to run and waited for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_elapsed: Option<f64>,
    /// As `by_elapsed`, and less the share of the rest for which the hypervisor took each worker's CPU; absent where that is
    /// counted too coarsely for a run this short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_steal: Option<f64>,
    /// By processor time: of the CPU whose workers used most, where workers are pinned one by one. What the workers themselves
    /// waited for is taken out too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_processor: Option<f64>,
}

impl Undisturbed {
    /// True if nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A busy sibling takes about half of a core, at most.
const TAKEN_BY_SIBLING: f64 = 0.5;

impl Evidence {
    /// The share of its time that the sample is known to have lost to other work; whether each worker had a CPU of
    /// its own decides whether a wait for a CPU was for other work.
    pub fn lost_share(&self, cpus_of_its_own: bool) -> Option<f64> {
        let waited = self.cpu_wait.filter(|_| cpus_of_its_own);
        let others = waited.or(self.foreign_busy);
        [others, self.sibling_share()].into_iter().flatten().reduce(f64::max)
    }

    /// The share of its time that the sample may have lost to work on a sibling that should be idle.
    pub fn sibling_share(&self) -> Option<f64> {
        self.idle_sibling_busy.map(|busy| TAKEN_BY_SIBLING * busy.min(1.0))
    }
}

/// A worker whose affinity was not the one that corun had set, as read back during and after its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Displaced {
    /// The worker, from 0.
    pub worker: u32,
    /// The CPUs outside its place that it was allowed to use or seen on. Empty where it set its own
    /// affinity within the CPUs of the arm.
    pub outside: Vec<u32>,
    /// True if it migrated between CPUs that are unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

impl Displaced {
    /// True if it ran where the arm does not say, so that the arm is not what it is called.
    pub fn left_its_place(&self) -> bool {
        self.moved || !self.outside.is_empty()
    }
}

/// A process that a command left running when it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftRunning {
    /// Name of the task.
    pub name: String,
    /// True if corun ended it.
    pub ended: bool,
}

/// Pinning of workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    /// Not pinned.
    #[default]
    Free,
    /// Each worker on a logical CPU of its own arm's list, verified.
    Pinned,
    /// Workers pinned to the arm's set of logical CPUs, not one by one.
    SetPinned,
    /// A worker's affinity was changed during the run, by the program or from outside.
    SetByProgram,
}

/// The clock of one CPU around a sample, from a chain of dependent multiplications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockProbe {
    /// The logical CPU.
    pub cpu: u32,
    /// Multiplications per nanosecond just before the run.
    pub before_per_ns: f64,
    /// Multiplications per nanosecond just after the run.
    pub after_per_ns: f64,
}
