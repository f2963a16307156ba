//! The outcome of a run: times, rates, latencies, how busy CPUs were, how fair it was.

use corun_record::{
    ScheduledCore, ScheduledCpu, ScheduledMigrations, ScheduledRun, ScheduledTimes,
};
use hdrhistogram::Histogram;

use super::engine::{Record, State, Task};
use super::program::Load;
use super::topology::Topology;

/// The outcome of a run. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// From the start until the last task ended, or the last request from outside was served.
    pub makespan: u64,
    /// True if all that the run waited for has ended.
    pub is_finished: bool,
    /// True if it ended before, since all tasks that were left waited for each other, or for nothing.
    pub is_stuck: bool,
    /// Operations that were done; tasks that ended where the load has no operations.
    pub operations: u64,
    /// Operations a second.
    pub throughput: f64,
    /// Work that was done, as it takes alone on a core.
    pub work: f64,
    /// Tasks that there were, and those still there at the end.
    pub tasks: u64,
    /// Tasks that still live at the end: daemons, or all of an unfinished run.
    pub left: u64,
    /// Each CPU, in the topology's order.
    pub cpus: Vec<CpuUse>,
    /// Each core.
    pub cores: Vec<CoreUse>,
    /// Changes from one task to another.
    pub switches: u64,
    /// Tasks that went on elsewhere.
    pub migrations: Migrations,
    /// Jain's index of the speeds, while they could run, of the tasks that had work: 1 if all were equal (Jain, Chiu and Hawe
    /// 1984).
    pub fairness: f64,
    /// The mean share of a CPU that a task with work had while it could run.
    pub cpu_share: f64,
    /// Shares of a CPU of each of these tasks, largest first; none where there were more than 64.
    pub shares: Vec<f64>,
    /// The longest that a task waited for a CPU.
    pub longest_wait: u64,
    /// From being woken to running.
    pub wake_up: Option<Percentiles>,
    /// From the begin of an operation to its end.
    pub latency: Option<Percentiles>,
    /// Events that were simulated.
    pub events: u64,
}

/// Time of a CPU, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// With a task.
    pub busy: u64,
    /// With a task, and a sibling with one.
    pub beside_sibling: u64,
    /// Work of the kernel's, as it takes alone on a core.
    pub(super) overhead: u128,
    /// Time in the kernel, in nanoseconds.
    pub kernel: u64,
}

/// Time of a core, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreUse {
    /// With a task on one CPU at least.
    pub busy: u64,
    /// With tasks on several CPUs.
    pub shared: u64,
    since: u64,
}

/// Tasks that went on elsewhere, by how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Migrations {
    /// On a sibling.
    pub same_core: u64,
    /// On another core with the same last-level cache.
    pub same_cache: u64,
    /// Beyond it.
    pub elsewhere: u64,
}

/// A distribution of times in nanoseconds, to three digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// Number of them.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// 95 of 100 were no longer.
    pub p95: u64,
    /// 99 of 100 were no longer.
    pub p99: u64,
    /// 999 of 1000 were no longer.
    pub p999: u64,
    /// The longest.
    pub longest: u64,
}

impl Outcome {
    /// The share of all CPUs' time that was used, from 0 to 1.
    pub fn utilization(&self) -> f64 {
        let busy: u64 = self.cpus.iter().map(|cpu| cpu.busy).sum();
        busy as f64 / (self.makespan.max(1) as f64 * self.cpus.len() as f64)
    }
}

/// The outcome as a record, with what it is of.
impl Outcome {
    /// As JSON and tables have it; `topology` is the policy's own.
    pub fn record(&self, of: &Scheduled<'_>) -> ScheduledRun {
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        let times = |it: &Percentiles| ScheduledTimes {
            count: it.count,
            mean_s: it.mean * 1e-9,
            p50_s: seconds(it.p50),
            p95_s: seconds(it.p95),
            p99_s: seconds(it.p99),
            p999_s: seconds(it.p999),
            max_s: seconds(it.longest),
        };
        let cpus = of.topology.cpus.iter().zip(&self.cpus).map(|(cpu, used)| ScheduledCpu {
            cpu: cpu.number,
            busy_s: seconds(used.busy),
            beside_sibling_s: seconds(used.beside_sibling),
            kernel_s: seconds(used.kernel),
        });
        let cores = of.topology.cores.iter().zip(&self.cores).map(|(core, used)| ScheduledCore {
            cpus: core.iter().map(|&cpu| of.topology.cpus[cpu].number).collect(),
            busy_s: seconds(used.busy),
            shared_s: seconds(used.shared),
        });
        ScheduledRun {
            policy: of.policy.clone(),
            load: of.load.name.clone(),
            seed: of.seed,
            finished: self.is_finished,
            stuck: self.is_stuck,
            makespan_s: seconds(self.makespan),
            operation: of.load.operation.clone(),
            operations: self.operations,
            throughput: self.throughput,
            utilization: self.utilization(),
            fairness: self.fairness,
            cpu_share: self.cpu_share,
            shares: self.shares.clone(),
            tasks: self.tasks,
            switches: self.switches,
            migrations: ScheduledMigrations {
                same_core: self.migrations.same_core,
                same_cache: self.migrations.same_cache,
                elsewhere: self.migrations.elsewhere,
            },
            longest_wait_s: seconds(self.longest_wait),
            wake_up: self.wake_up.as_ref().map(times),
            latency: self.latency.as_ref().map(times),
            cpus: cpus.collect(),
            cores: cores.collect(),
        }
    }
}

/// Subject of an outcome.
#[derive(Debug, Clone)]
pub struct Scheduled<'a> {
    /// The policy's name.
    pub policy: String,
    /// The load.
    pub load: &'a Load,
    /// The machine as the policy saw it.
    pub topology: &'a Topology,
    /// The seed.
    pub seed: u64,
}

impl Migrations {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.same_core + self.same_cache + self.elsewhere
    }
}

/// Tally of a run.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) events: u64,
    pub(super) born: u64,
    pub(super) ended: u64,
    pub(super) switches: u64,
    pub(super) migrations: Migrations,
    pub(super) makespan: u64,
    cores: Vec<CoreUse>,
    operations: u64,
    latency: Times,
    wake_up: Times,
    longest_wait: u64,
    work: f64,
    /// Of the tasks that had work and could run at all: how many, their speeds, the squares of these, and their
    /// shares of a CPU.
    speeds: (u64, f64, f64, f64),
    /// The share of a CPU of the first of these tasks, one more than are shown.
    shares: Vec<f64>,
}

/// The most tasks whose shares of a CPU are named.
const MAX_SHARES: usize = 64;

impl Tally {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            events: 0,
            born: 0,
            ended: 0,
            switches: 0,
            migrations: Migrations::default(),
            makespan: 0,
            cores: vec![CoreUse::default(); cores],
            operations: 0,
            latency: Times::default(),
            wake_up: Times::default(),
            longest_wait: 0,
            work: 0.0,
            speeds: (0, 0.0, 0.0, 0.0),
            shares: Vec::new(),
        }
    }

    /// A core had so many running tasks until now.
    pub(super) fn core_was(&mut self, core: usize, busy: u32, now: u64) {
        let used = &mut self.cores[core];
        let time = now - std::mem::replace(&mut used.since, now);
        used.busy += if busy > 0 { time } else { 0 };
        used.shared += if busy > 1 { time } else { 0 };
    }

    pub(super) fn waited(&mut self, time: u64, was_woken: bool) {
        self.longest_wait = self.longest_wait.max(time);
        if was_woken {
            self.wake_up.record(time);
        }
    }

    /// An operation is done, with its latency where that is known.
    pub(super) fn operation(&mut self, latency: Option<u64>) {
        self.operations += 1;
        if let Some(latency) = latency {
            self.latency.record(latency);
        }
    }

    /// A task ends, or is still there at the end.
    pub(super) fn task_leaves(&mut self, task: &Task, now: u64, unit: u64) {
        let Record { work, ran, waited, waits, has_work } = task.record(now, unit);
        self.longest_wait = self.longest_wait.max(waits);
        self.work += work;
        let runnable = (ran + waited) as f64;
        if has_work && runnable > 0.0 {
            let speed = work / runnable;
            let (count, sum, squares, shares) = &mut self.speeds;
            *count += 1;
            *sum += speed;
            *squares += speed * speed;
            *shares += ran as f64 / runnable;
            if self.shares.len() <= MAX_SHARES {
                self.shares.push(ran as f64 / runnable);
            }
        }
    }

    pub(super) fn outcome(
        self,
        load: &Load,
        state: &State,
        unit: u64,
        mut cpus: Vec<CpuUse>,
        left: usize,
        [is_finished, is_stuck]: [bool; 2],
    ) -> Outcome {
        let (count, sum, squares, shares) = self.speeds;
        let count = count.max(1) as f64;
        let makespan = if is_finished { self.makespan } else { state.now() };
        let operations = if load.has_operations() { self.operations } else { self.ended };
        let mut each = self.shares;
        each.sort_by(|one, other| other.total_cmp(one));
        if each.len() > MAX_SHARES {
            each.clear();
        }
        for cpu in &mut cpus {
            cpu.kernel = (cpu.overhead / u128::from(unit)) as u64;
        }
        Outcome {
            makespan,
            is_finished,
            is_stuck,
            operations,
            throughput: operations as f64 / (makespan.max(1) as f64 * 1e-9),
            work: self.work,
            tasks: self.born,
            left: left as u64,
            cpus,
            cores: self.cores,
            switches: self.switches,
            migrations: self.migrations,
            fairness: if squares > 0.0 { sum * sum / (count * squares) } else { 1.0 },
            cpu_share: shares / count,
            shares: each,
            longest_wait: self.longest_wait,
            wake_up: self.wake_up.percentiles(),
            latency: self.latency.percentiles(),
            events: self.events,
        }
    }
}

/// Times, as many as there may be in little memory.
#[derive(Debug)]
struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are possible"))
    }
}

impl Times {
    fn record(&mut self, time: u64) {
        // The histogram grows; only a time beyond all that it can hold is refused.
        let _ = self.0.record(time);
    }

    fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile| self.0.value_at_quantile(quantile);
        (!self.0.is_empty()).then(|| Percentiles {
            count: self.0.len(),
            mean: self.0.mean(),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            longest: self.0.max(),
        })
    }
}
