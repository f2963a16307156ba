//! State that a policy may read: the time, the topology, the tasks, and who runs where.
//!
//! The engine changes it; policies only read.

use std::sync::Arc;

use corun_machine::CpuSet;
use rand_chacha::ChaCha8Rng;

use crate::topology::Topology;

/// A task; the number is used again when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// A task that lives.
#[derive(Debug)]
pub struct Task {
    /// Distinguishes tasks of the same id: how many were born before it.
    pub number: u64,
    /// The CPUs that it may run on, by the kernel's numbers; `None`: all.
    pub affinity: Option<Arc<CpuSet>>,
    /// Core-scheduling cookie.
    pub cookie: u32,
    /// Load weight; 1024 at nice 0.
    pub weight: u64,
    /// The CPU that it ran on last.
    pub last_cpu: Option<usize>,
    /// When it ran last, in nanoseconds.
    pub last_ran: u64,
    /// Since when it has been blocked, if it is; in nanoseconds.
    pub blocked_since: u64,
    /// State that only the engine needs.
    pub(super) inside: Inside,
}

/// Place of a task in its program, and its times so far.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) program: usize,
    pub(super) kind: usize,
    pub(super) step: usize,
    /// The repetitions around the step: where the body begins, and how often it is still to be done.
    pub(super) repeats: Vec<(usize, Option<u64>)>,
    /// Units left until the next step, `overhead` of them the kernel's work.
    pub(super) left: u128,
    pub(super) overhead: u128,
    pub(super) parent: Option<(TaskId, u64)>,
    pub(super) children: u32,
    pub(super) is_joining: bool,
    /// When its current operation began, where the program says it.
    pub(super) begun: Option<u64>,
    /// When the last message that it took had been sent, and whether from outside.
    pub(super) message: Option<(u64, bool)>,
    /// From when its next period counts.
    pub(super) period_base: u64,
    pub(super) random: Option<Box<ChaCha8Rng>>,
    pub(super) is_waiting: bool,
    pub(super) was_woken: bool,
    pub(super) runnable_since: u64,
    /// Time on a CPU and time waiting for one, in nanoseconds.
    pub(super) ran: u64,
    pub(super) waited: u64,
    /// Units of its own work that are done.
    pub(super) worked: u128,
}

/// Record of a task, for the tally; times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// Own work, in the time it takes alone on a core.
    pub(crate) work: f64,
    /// On a CPU.
    pub(crate) ran: u64,
    /// Waiting for a CPU, in total and at the end.
    pub(crate) waited: u64,
    pub(crate) waits: u64,
    /// True if it had work of its own, or may have had without ever getting a CPU.
    pub(crate) has_work: bool,
}

impl Task {
    pub(crate) fn record(&self, now: u64, unit: u64) -> Record {
        let Inside { worked, left, overhead, ran, waited, is_waiting, runnable_since, .. } =
            self.inside;
        let waits = if is_waiting { now - runnable_since } else { 0 };
        Record {
            work: worked as f64 / unit as f64,
            ran,
            waited: waited + waits,
            waits,
            has_work: worked > 0 || left > overhead || is_waiting,
        }
    }
}

/// State of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing.
    Idle,
    /// It has been asked to pick a task.
    Called,
    /// It runs a task.
    Running(TaskId),
}

/// State that a policy may read.
#[derive(Debug)]
pub struct State {
    pub(super) now: u64,
    pub(super) topology: Topology,
    pub(super) tasks: Vec<Option<Task>>,
    pub(super) doing: Vec<Doing>,
    /// Running tasks by core.
    pub(super) busy: Vec<u32>,
    /// CPUs that are not idle, by core.
    pub(super) taken: Vec<u32>,
    /// Idle CPUs.
    pub(super) idle: usize,
    /// Runnable tasks that do not run.
    pub(super) waiting: usize,
}

impl State {
    pub(super) fn new(topology: Topology) -> Self {
        Self {
            now: 0,
            tasks: Vec::new(),
            doing: vec![Doing::Idle; topology.cpus.len()],
            busy: vec![0; topology.cores.len()],
            taken: vec![0; topology.cores.len()],
            idle: topology.cpus.len(),
            waiting: 0,
            topology,
        }
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The machine.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// A task that lives.
    ///
    /// # Panics
    /// If it has ended.
    pub fn task(&self, task: TaskId) -> &Task {
        self.tasks[task.0 as usize].as_ref().expect("the task lives")
    }

    /// The task that runs on a CPU.
    pub fn running(&self, cpu: usize) -> Option<TaskId> {
        match self.doing[cpu] {
            Doing::Running(task) => Some(task),
            Doing::Idle | Doing::Called => None,
        }
    }

    /// True if a CPU has nothing to do, and has not been asked to pick a task.
    pub fn is_idle(&self, cpu: usize) -> bool {
        self.doing[cpu] == Doing::Idle
    }

    /// True if all CPUs of a CPU's core are idle.
    pub fn has_idle_core(&self, cpu: usize) -> bool {
        self.taken[self.topology.cpus[cpu].core] == 0
    }

    /// Tasks that run on a core.
    pub fn running_on_core(&self, core: usize) -> u32 {
        self.busy[core]
    }

    /// Idle CPUs in all.
    pub fn idle_cpus(&self) -> usize {
        self.idle
    }

    /// Runnable tasks that wait for a CPU, in all.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// True if a task may run on a CPU.
    pub fn may_run(&self, task: TaskId, cpu: usize) -> bool {
        let number = self.topology.cpus[cpu].number;
        self.task(task).affinity.as_ref().is_none_or(|cpus| cpus.contains(number))
    }

    pub(super) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        self.tasks[task.0 as usize].as_mut().expect("the task lives")
    }

    pub(super) fn set(&mut self, cpu: usize, doing: Doing) {
        let core = self.topology.cpus[cpu].core;
        let before = std::mem::replace(&mut self.doing[cpu], doing);
        for (state, sign) in [(before, -1_i32), (doing, 1)] {
            match state {
                Doing::Idle => self.idle = self.idle.wrapping_add_signed(sign as isize),
                Doing::Called => self.taken[core] = self.taken[core].wrapping_add_signed(sign),
                Doing::Running(_) => {
                    self.taken[core] = self.taken[core].wrapping_add_signed(sign);
                    self.busy[core] = self.busy[core].wrapping_add_signed(sign);
                }
            }
        }
    }
}
