//! Linux since 2.6.23: a queue for each CPU in which tasks are ordered by virtual time, idle cores and
//! CPUs first when tasks wake, and balancing by domains. CFS and EEVDF differ in the queue alone.

mod cfs;
mod eevdf;

use super::domains::Waiting;
use super::{Arrival, Balance, Balanced, Policy, PolicyEntry, Turn, Why, least};
use crate::schedule::engine::{State, TaskId};
use crate::schedule::topology::Topology;
use cfs::Cfs;
use eevdf::Eevdf;

pub(super) const CFS: PolicyEntry = PolicyEntry {
    name: "cfs",
    summary: "queues by virtual run time; woken tasks look for an idle core; domains",
    source: "Linux 6.5, Documentation/scheduler/sched-design-CFS.rst, sched-domains.rst, kernel/sched/fair.c",
    is_without_siblings: false,
    make: |topology, _| Box::new(Fair::new(topology, Cfs::new(topology))),
};

pub(super) const EEVDF: PolicyEntry = PolicyEntry {
    name: "eevdf",
    summary: "as cfs, but the earliest virtual deadline of those that lag behind runs first",
    source: "Stoica and Abdel-Wahab 1995; Linux 6.6, Documentation/scheduler/sched-eevdf.rst",
    is_without_siblings: false,
    make: |topology, _| Box::new(Fair::new(topology, Eevdf::new(topology))),
};

pub(super) const SMT_OFF: PolicyEntry = PolicyEntry {
    name: "smt-off",
    summary: "cfs on a machine with SMT off",
    source: "as cfs; Documentation/admin-guide/hw-vuln/l1tf.rst for the switch",
    is_without_siblings: true,
    ..CFS
};

/// The times of the tick, and of balancing in a domain for each of its CPUs, in nanoseconds.
const IDLE_INTERVAL: u64 = 4_000_000;
const BUSY_INTERVAL: u64 = 64_000_000;

/// Queues of runnable tasks, one for each CPU.
trait Queues {
    /// Puts a task into a queue.
    fn insert(&mut self, state: &State, task: TaskId, cpu: usize, why: Why);
    /// Takes the task that runs next.
    fn first(&mut self, state: &State, cpu: usize) -> Option<TaskId>;
    /// Takes a task that may run on another CPU and has waited longest for its turn to come.
    fn steal(&mut self, state: &State, from: usize, to: usize) -> Option<TaskId>;
    /// Waiting tasks.
    fn len(&self, cpu: usize) -> usize;
    /// The running task ran.
    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64);
    /// The running task blocks or ends.
    fn leave(&mut self, state: &State, task: TaskId, cpu: usize);
    /// Nanoseconds that a task may run before others are looked at.
    fn slice(&mut self, state: &State, task: TaskId, cpu: usize) -> u64;
    /// Whether a woken task runs before the running one.
    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool;
}

#[derive(Debug)]
struct Fair<Q> {
    queues: Q,
    waiting: Waiting,
}

impl<Q: Queues> Fair<Q> {
    fn new(topology: &Topology, queues: Q) -> Self {
        Self { queues, waiting: Waiting::new(topology) }
    }

    fn tasks(&self, state: &State, cpu: usize) -> usize {
        self.queues.len(cpu) + usize::from(state.running(cpu).is_some())
    }

    /// `find_idlest_cpu`: the last-level cache with the fewest tasks a CPU, there the CPU of an idle
    /// core, else an idle one, else the one with the fewest tasks.
    fn idlest(&self, state: &State, task: TaskId, near: usize) -> usize {
        let topology = state.topology();
        let own = topology.cpus[near].cache;
        let load = |cache: usize| {
            let cpus = &topology.caches[cache];
            let busy: usize = cpus.iter().map(|&cpu| usize::from(!state.is_idle(cpu))).sum();
            let tasks = busy + self.waiting.behind(cache);
            (tasks * topology.cpus.len() / cpus.len(), cache != own, cache)
        };
        let may =
            |cache: &usize| topology.caches[*cache].iter().any(|&cpu| state.may_run(task, cpu));
        let cache = (0..topology.caches.len()).filter(may).min_by_key(|&cache| load(cache));
        let cpus = topology.caches[cache.unwrap_or(own)].iter().copied();
        let key = |cpu: usize| {
            let core = topology.cpus[cpu].core;
            (
                !state.is_idle(cpu),
                self.tasks(state, cpu),
                state.running_on_core(core),
                !state.has_idle_core(cpu),
                cpu != near,
            )
        };
        least(state, task, cpus, key).unwrap_or(near)
    }

    /// `select_task_rq_fair` for a woken task: near where it ran, or near who wakes it where that is
    /// idler; there an idle core, else an idle CPU.
    fn wake(&self, state: &State, task: TaskId, waker: Option<usize>) -> usize {
        let topology = state.topology();
        let previous = state.task(task).last_cpu.or(waker).unwrap_or(0);
        let target = match waker {
            Some(waker)
                if topology.distance(waker, previous) == crate::schedule::Distance::Elsewhere =>
            {
                let is_lighter = self.tasks(state, waker) < self.tasks(state, previous);
                if is_lighter && !state.is_idle(previous) { waker } else { previous }
            }
            _ => previous,
        };
        let is_free = |cpu: usize| state.may_run(task, cpu) && state.is_idle(cpu);
        if let Some(free) = [target, previous].into_iter().find(|&cpu| is_free(cpu)) {
            return free;
        }
        let near = topology.caches[topology.cpus[target].cache].iter().copied();
        let idle = near.filter(|&cpu| state.is_idle(cpu));
        if let Some(cpu) = least(state, task, idle, |cpu| (!state.has_idle_core(cpu), cpu < target))
        {
            return cpu;
        }
        match [target, previous].into_iter().find(|&cpu| state.may_run(task, cpu)) {
            Some(cpu) => cpu,
            None => self.idlest(state, task, target),
        }
    }

    /// The CPU behind a cache from which another may take a waiting task: the one with most tasks.
    fn busiest(&self, state: &State, cpu: usize, cache: usize) -> Option<usize> {
        let others = state.topology().caches[cache].iter().copied().filter(|&other| other != cpu);
        let with_waiting = others.filter(|&other| self.queues.len(other) > 0);
        with_waiting.max_by_key(|&other| (self.tasks(state, other), usize::MAX - other))
    }

    /// A busy CPU takes half of what another has more, an idle one a task.
    fn pull(&mut self, state: &State, cpu: usize, from: usize, when: Balance) -> bool {
        let difference = self.tasks(state, from).saturating_sub(self.tasks(state, cpu));
        let most = if when == Balance::Busy { difference / 2 } else { 1 };
        let mut moved = 0;
        while moved < most
            && let Some(task) = self.queues.steal(state, from, cpu)
        {
            self.queues.insert(state, task, cpu, Why::Pushed);
            self.waiting.ends(state, from);
            self.waiting.begins(state, cpu);
            moved += 1;
        }
        moved > 0
    }

    /// An idle core takes a running task from a core that runs several (`group_smt_balance`).
    fn push(&self, state: &State, cpu: usize) -> Balanced {
        if !state.has_idle_core(cpu) {
            return Balanced::Nothing;
        }
        let topology = state.topology();
        let own = topology.cpus[cpu].cache;
        let caches = std::iter::once(own).chain((0..topology.caches.len()).filter(|&it| it != own));
        let cpus = caches.flat_map(|cache| topology.caches[cache].iter().copied());
        let mut movable = cpus.filter(|&from| {
            state.running_on_core(topology.cpus[from].core) > 1
                && state.running(from).is_some_and(|task| state.may_run(task, cpu))
        });
        movable.next().map_or(Balanced::Nothing, Balanced::Push)
    }
}

impl<Q: Queues> Policy for Fair<Q> {
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        match arrival {
            Arrival::New(parent) => self.idlest(state, task, parent.unwrap_or(0)),
            Arrival::Woken(waker) => self.wake(state, task, waker),
        }
    }

    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        self.queues.insert(state, task, cpu, why);
        self.waiting.begins(state, cpu);
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let first = self.queues.first(state, cpu)?;
        self.waiting.ends(state, cpu);
        Some(first)
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64) {
        self.queues.charge(state, task, cpu, ran);
    }

    fn leave(&mut self, state: &State, task: TaskId, cpu: usize) {
        self.queues.leave(state, task, cpu);
    }

    fn slice(&mut self, state: &State, cpu: usize, task: TaskId) -> Option<u64> {
        (self.queues.len(cpu) > 0).then(|| self.queues.slice(state, task, cpu))
    }

    fn slice_is_over(&mut self, _state: &State, cpu: usize, _task: TaskId) -> Turn {
        if self.queues.len(cpu) > 0 { Turn::Next } else { Turn::Keep }
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        self.queues.preempts(state, woken, running, cpu)
    }

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        let may_pull = state.waiting() > 0 && (when == Balance::Busy || self.queues.len(cpu) == 0);
        let caches = self.waiting.looked_behind(state, cpu, when).into_iter().flatten();
        let mut caches = caches.filter(|_| may_pull);
        let has_pulled = caches.any(|cache| {
            let from = self.busiest(state, cpu, cache);
            from.is_some_and(|from| self.pull(state, cpu, from, when))
        });
        match (has_pulled, when) {
            (true, _) => Balanced::Pulled,
            (false, Balance::Idle) => self.push(state, cpu),
            (false, _) => Balanced::Nothing,
        }
    }

    fn balance_interval(&self, _state: &State, is_idle: bool) -> Option<u64> {
        Some(if is_idle { IDLE_INTERVAL } else { BUSY_INTERVAL })
    }

    fn moves_running(&self) -> bool {
        true
    }
}

/// The kernel's times grow with the CPUs: 1 + log2 of them, of eight at most (`sched_tunable_scaling`).
fn scaling(topology: &Topology) -> u64 {
    1 + u64::from(topology.cpus.len().clamp(1, 8).ilog2())
}

/// Virtual time for time on a CPU: less for tasks of more weight.
fn virtual_time(time: u64, weight: u64) -> i64 {
    (u128::from(time) * 1024 / u128::from(weight.max(1))) as i64
}
