//! Scheduling policies: what decides which task runs where. A new one is a file here, its `mod` line and
//! its line in [`ALL`].

mod array;
mod core_scheduling;
mod domains;
mod fair;
mod flat;
mod global;
mod ht_24;
mod ht_25;
mod load_balance;
mod pinned;

use corun_machine::CpuSet;
use corun_record::nearest_first;

use super::ScheduleError;
use super::costs::Costs;
use super::engine::{State, TaskId};
use super::program::Load;
use super::topology::Topology;

/// Decides which task runs where. The engine owns time, tasks and speed; a policy owns the queues of
/// runnable tasks that wait. A running task is in no queue.
pub trait Policy {
    /// The CPU for a task that becomes runnable; it must be one that the task may run on. If it is
    /// idle it is asked to pick a task.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize;

    /// Puts a task into the queue of a CPU.
    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why);

    /// Takes the task that a CPU runs next out of its queue.
    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId>;

    /// The task ran on the CPU for so many nanoseconds more.
    fn charge(&mut self, _state: &State, _task: TaskId, _cpu: usize, _ran: u64) {}

    /// A running task starts another; whether what is left of its own slice changes.
    fn fork(&mut self, _state: &State, _parent: TaskId, _child: TaskId) -> bool {
        false
    }

    /// A task ends, and the one that started it still lives.
    fn exit(&mut self, _state: &State, _child: TaskId, _parent: TaskId) {}

    /// The task that ran on the CPU blocks, or ends.
    fn leave(&mut self, _state: &State, _task: TaskId, _cpu: usize) {}

    /// Nanoseconds until the policy is asked again whether the running task may go on; `None`: not
    /// before another is enqueued.
    fn slice(&mut self, state: &State, cpu: usize, task: TaskId) -> Option<u64>;

    /// Action after the slice of the running task.
    fn slice_is_over(&mut self, state: &State, cpu: usize, task: TaskId) -> AfterSlice;

    /// True if a task that was enqueued at the CPU runs before the one that runs there.
    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool;

    /// Moves waiting tasks between queues so that this CPU, or all, are better used.
    fn balance(&mut self, _state: &State, _cpu: usize, _when: Balance) -> Balanced {
        Balanced::Nothing
    }

    /// Nanoseconds between two balancings of a CPU by the timer; `None`: there is none.
    fn balance_interval(&self, _state: &State, _is_idle: bool) -> Option<u64> {
        None
    }

    /// When a CPU balances next by its timer, where that depends on more than an interval; it goes before
    /// [`balance_interval`](Self::balance_interval).
    fn next_balance(&self, _state: &State, _cpu: usize, _is_idle: bool) -> Option<u64> {
        None
    }

    /// True if [`balance`](Self::balance) also moves tasks that run, when cores have several.
    fn moves_running(&self) -> bool {
        false
    }

    /// True if idle siblings are to pick a task when a CPU has found one: what they may run can
    /// depend on it.
    fn calls_siblings(&self) -> bool {
        false
    }

    /// The sibling that is to pick a task instead, since a CPU has found none that it may run.
    fn leaves_choice_to(&self, _state: &State, _cpu: usize) -> Option<usize> {
        None
    }

    /// Decision of the CPU: tasks it examines, and the lock it holds meanwhile.
    fn decision(&self, _state: &State, _cpu: usize) -> Decision {
        Decision { examined: 0, lock: 0 }
    }
}

/// Arrival: how a task becomes runnable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It is new; its parent runs on this CPU, if it has one.
    New(Option<usize>),
    /// It was woken from this CPU; `None`: by a timer or a device.
    Woken(Option<usize>),
}

impl Arrival {
    /// The CPU that a task ran on last; of a new one, its parent's.
    fn cpu_before(self, state: &State, task: TaskId) -> Option<usize> {
        match self {
            Self::New(parent) => parent,
            Self::Woken(_) => state.task(task).last_cpu,
        }
    }
}

/// Why a task is put into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is new.
    New,
    /// It was woken.
    Woken,
    /// The slice is over.
    Expired,
    /// Another runs before it.
    Preempted,
    /// It ran on another CPU, and is moved.
    Pushed,
}

/// Action after a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterSlice {
    /// The running task continues.
    Keep,
    /// The CPU picks the next.
    Next,
    /// All CPUs of the core pick their next.
    WholeCore,
}

/// When queues are balanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// The CPU has just found its queue empty.
    NewlyIdle,
    /// The timer of an idle CPU.
    Idle,
    /// The timer of a busy CPU.
    Busy,
}

/// Result of balancing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balanced {
    /// Nothing was moved.
    Nothing,
    /// The CPU's queue has got tasks.
    Pulled,
    /// The task that runs on this CPU is to be moved to the one that balances.
    Push(usize),
}

/// The cost of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Tasks that are examined.
    pub examined: usize,
    /// The lock, by a number of the policy's own.
    pub lock: usize,
}

/// A policy of the registry.
#[derive(Debug, Clone, Copy)]
pub struct PolicyEntry {
    /// The name that users type.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Kernel source it is modelled on.
    pub source: &'static str,
    /// True if it schedules on a machine with SMT off.
    pub is_without_siblings: bool,
    make: fn(&Topology, u64) -> Box<dyn Policy>,
}

/// Every policy.
pub const ALL: &[PolicyEntry] = &[
    flat::ENTRY,
    ht_24::ENTRY,
    ht_25::ENTRY,
    global::ENTRY,
    fair::CFS,
    fair::EEVDF,
    core_scheduling::ENTRY,
    pinned::ENTRY,
    fair::SMT_OFF,
];

/// Suffix of a policy's name for a machine with SMT off.
const SMT_OFF: &str = "/smt-off";

/// A policy is its name, and whether siblings are used.
impl PartialEq for PolicyEntry {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.is_without_siblings) == (other.name, other.is_without_siblings)
    }
}

impl PolicyEntry {
    /// The policy of this name; with `/smt-off` after it, on a machine with SMT off.
    ///
    /// # Errors
    /// With the names that there are, the nearest first.
    pub fn find(name: &str) -> Result<Self, ScheduleError> {
        let plain = name.strip_suffix(SMT_OFF).unwrap_or(name);
        let found = ALL.iter().find(|entry| entry.name == plain).copied();
        let found = found.map(|entry| match plain == name {
            true => entry,
            false => Self { is_without_siblings: true, ..entry },
        });
        found.ok_or_else(|| {
            let known = nearest_first(plain, ALL.iter().map(|entry| entry.name));
            ScheduleError::Policy { found: name.to_owned(), known }
        })
    }

    /// The name, with `/smt-off` where SMT is off and the name does not say it.
    pub fn title(&self) -> String {
        let says = self.name == fair::SMT_OFF.name;
        let suffix = if self.is_without_siblings && !says { SMT_OFF } else { "" };
        format!("{}{suffix}", self.name)
    }

    /// The machine that it schedules on.
    pub fn topology(&self, machine: &Topology) -> Topology {
        if self.is_without_siblings { machine.without_siblings() } else { machine.clone() }
    }

    /// Looks for a task that no CPU could run.
    ///
    /// # Errors
    /// With the CPUs that it may run on.
    pub fn check(&self, load: &Load, machine: &Topology) -> Result<(), ScheduleError> {
        let topology = self.topology(machine);
        let cannot = |cpus: &CpuSet| !topology.cpus.iter().any(|cpu| cpus.contains(cpu.number));
        let mut masks = load.tasks.iter().filter_map(|task| task.affinity.as_deref());
        match masks.find(|cpus| cannot(cpus)) {
            None => Ok(()),
            Some(cpus) => Err(ScheduleError::Affinity {
                load: load.name.clone(),
                affinity: cpus.to_string(),
                policy: self.title(),
            }),
        }
    }

    pub(super) fn make(&self, topology: &Topology, seed: u64) -> Box<dyn Policy> {
        (self.make)(topology, seed)
    }
}

impl Decision {
    /// Nanoseconds that the lock is held.
    pub(super) fn hold(&self, costs: &Costs) -> u64 {
        costs.search * self.examined as u64
    }
}

/// The CPU with the least of something among those that a task may run on, the first of equals.
fn least<K: Ord>(
    state: &State,
    task: TaskId,
    cpus: impl IntoIterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Option<usize> {
    cpus.into_iter().filter(|&cpu| state.may_run(task, cpu)).min_by_key(|&cpu| key(cpu))
}

/// All CPUs, from a CPU on and around.
fn around(state: &State, from: usize) -> impl Iterator<Item = usize> {
    let count = state.topology().cpus.len();
    (from..count).chain(0..from.min(count))
}
