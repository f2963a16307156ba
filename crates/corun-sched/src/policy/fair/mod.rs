//! Linux since 2.6.23: a queue for each CPU in which tasks are ordered by virtual time, idle cores and
//! CPUs first when tasks wake, and balancing by domains. CFS and EEVDF differ in the queue alone.

mod cfs;
mod eevdf;

use super::domains::Waiting;
use super::load_balance::{self, Domains, Moved};
use super::{AfterSlice, Arrival, Balance, Balanced, Policy, PolicyEntry, Why, least};
use crate::engine::{State, TaskId};
use crate::topology::Topology;
use cfs::Cfs;
use eevdf::Eevdf;

pub(super) const CFS: PolicyEntry = PolicyEntry {
    name: "cfs",
    summary: "queues by virtual run time; woken tasks look for an idle core; domains",
    source: "Linux 6.5, Documentation/scheduler/sched-design-CFS.rst, sched-domains.rst, kernel/sched/fair.c",
    is_without_siblings: false,
    make: |topology, seed| Box::new(Fair::new(topology, seed, Cfs::new(topology))),
};

pub(super) const EEVDF: PolicyEntry = PolicyEntry {
    name: "eevdf",
    summary: "as cfs, but the earliest virtual deadline of those that lag behind runs first",
    source: "Stoica and Abdel-Wahab 1995; Linux 6.6, Documentation/scheduler/sched-eevdf.rst",
    is_without_siblings: false,
    make: |topology, seed| Box::new(Fair::new(topology, seed, Eevdf::new(topology))),
};

pub(super) const SMT_OFF: PolicyEntry = PolicyEntry {
    name: "smt-off",
    summary: "cfs on a machine with SMT off",
    source: "as cfs; Documentation/admin-guide/hw-vuln/l1tf.rst for the switch",
    is_without_siblings: true,
    ..CFS
};

/// Queues of runnable tasks, one for each CPU.
trait Queues {
    /// Puts a task into a queue.
    fn insert(&mut self, state: &State, task: TaskId, cpu: usize, why: Why);
    /// Takes the task that runs next.
    fn first(&mut self, state: &State, cpu: usize) -> Option<TaskId>;
    /// Takes a waiting task out of its queue, to go to another.
    fn take_out(&mut self, state: &State, task: TaskId, from: usize);
    /// The waiting tasks.
    fn waiting(&self, cpu: usize) -> impl Iterator<Item = TaskId>;
    /// Sum of their weights.
    fn weight(&self, cpu: usize) -> u64;
    /// Number of tasks.
    fn len(&self, cpu: usize) -> usize;
    /// The running task ran.
    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64);
    /// The running task blocks or ends.
    fn leave(&mut self, state: &State, task: TaskId, cpu: usize);
    /// Nanoseconds that a task may run before others are considered.
    fn slice(&mut self, state: &State, task: TaskId, cpu: usize) -> u64;
    /// True if a woken task runs before the running one.
    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool;
}

/// The queues of all CPUs, and what balancing asks of them.
#[derive(Debug)]
struct RunQueues<Q> {
    queues: Q,
    waiting: Waiting,
    /// By task: when it was enqueued or picked last, as a count of such events (the order of
    /// `rq->cfs_tasks`).
    touched: Vec<u64>,
    touches: u64,
}

impl<Q: Queues> RunQueues<Q> {
    fn touch(&mut self, task: TaskId) {
        let place = task.0 as usize;
        if self.touched.len() <= place {
            self.touched.resize(place + 1, 0);
        }
        self.touches += 1;
        self.touched[place] = self.touches;
    }
}

impl<Q: Queues> load_balance::Queues for RunQueues<Q> {
    fn tasks(&self, state: &State, cpu: usize) -> usize {
        self.queues.len(cpu) + usize::from(state.running(cpu).is_some())
    }

    fn load(&self, state: &State, cpu: usize) -> u64 {
        let running = state.running(cpu).map_or(0, |task| state.task(task).weight);
        self.queues.weight(cpu) + running
    }

    fn has_waiting(&self, state: &State, cpus: &[usize]) -> bool {
        self.waiting.among(state, cpus)
    }

    fn candidates(&self, _state: &State, cpu: usize) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> = self.queues.waiting(cpu).collect();
        tasks.sort_unstable_by_key(|task| self.touched[task.0 as usize]);
        tasks
    }

    fn transfer(&mut self, state: &State, task: TaskId, from: usize, to: usize) {
        self.queues.take_out(state, task, from);
        self.queues.insert(state, task, to, Why::Pushed);
        self.waiting.ends(state, from);
        self.waiting.begins(state, to);
        self.touch(task);
    }
}

#[derive(Debug)]
struct Fair<Q> {
    run: RunQueues<Q>,
    domains: Domains,
}

impl<Q: Queues> Fair<Q> {
    fn new(topology: &Topology, seed: u64, queues: Q) -> Self {
        let waiting = Waiting::new(topology);
        let run = RunQueues { queues, waiting, touched: Vec::new(), touches: 0 };
        Self { run, domains: Domains::new(topology, seed, true) }
    }

    fn tasks(&self, state: &State, cpu: usize) -> usize {
        load_balance::Queues::tasks(&self.run, state, cpu)
    }

    /// `find_idlest_cpu`: the last-level cache with the fewest tasks a CPU, there the CPU of an idle
    /// core, else an idle one, else the one with the fewest tasks.
    fn idlest(&self, state: &State, task: TaskId, near: usize) -> usize {
        let topology = state.topology();
        let own = topology.cpus[near].cache;
        let load = |cache: usize| {
            let cpus = &topology.caches[cache];
            let busy: usize = cpus.iter().map(|&cpu| usize::from(!state.is_idle(cpu))).sum();
            let tasks = busy + self.run.waiting.waiting_at(cache);
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
            Some(waker) if topology.distance(waker, previous) == crate::Distance::Elsewhere => {
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
}

impl<Q: Queues> Policy for Fair<Q> {
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        match arrival {
            Arrival::New(parent) => self.idlest(state, task, parent.unwrap_or(0)),
            Arrival::Woken(waker) => self.wake(state, task, waker),
        }
    }

    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        self.run.queues.insert(state, task, cpu, why);
        self.run.waiting.begins(state, cpu);
        if matches!(why, Why::New | Why::Woken | Why::Pushed) {
            self.run.touch(task);
        }
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let first = self.run.queues.first(state, cpu)?;
        self.run.waiting.ends(state, cpu);
        self.run.touch(first);
        Some(first)
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64) {
        self.run.queues.charge(state, task, cpu, ran);
    }

    fn leave(&mut self, state: &State, task: TaskId, cpu: usize) {
        self.run.queues.leave(state, task, cpu);
    }

    fn slice(&mut self, state: &State, cpu: usize, task: TaskId) -> Option<u64> {
        (self.run.queues.len(cpu) > 0).then(|| self.run.queues.slice(state, task, cpu))
    }

    fn slice_is_over(&mut self, _state: &State, cpu: usize, _task: TaskId) -> AfterSlice {
        if self.run.queues.len(cpu) > 0 { AfterSlice::Next } else { AfterSlice::Keep }
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        self.run.queues.preempts(state, woken, running, cpu)
    }

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        if when != Balance::Busy && self.run.queues.len(cpu) > 0 {
            return Balanced::Pulled;
        }
        match self.domains.balance(&mut self.run, state, cpu, when) {
            Moved::Nothing => Balanced::Nothing,
            Moved::Waiting => Balanced::Pulled,
            Moved::Running(from) => Balanced::Push(from),
        }
    }

    fn next_balance(&self, state: &State, cpu: usize, is_idle: bool) -> Option<u64> {
        self.domains.next(state, cpu, !is_idle)
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
