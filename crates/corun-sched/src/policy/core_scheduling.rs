//! Core scheduling: only tasks with the same cookie run on a core at the same time; a sibling that has no
//! such task stays idle. When a slice is over, the whole core chooses again.
//!
//! Virtual run times and balancing as in CFS, in one queue a core. A task is not moved beside those of another
//! cookie unless balancing has failed before (`sched_core_cookie_match` in `task_hot`).

use std::collections::{BTreeMap, BTreeSet};

use super::domains::Waiting;
use super::load_balance::{self, Domains, Moved};
use super::{AfterSlice, Arrival, Balance, Balanced, Policy, PolicyEntry, Why, around, least};
use crate::engine::{State, TaskId};
use crate::topology::Topology;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "core",
    summary: "core scheduling: siblings run tasks of one cookie only, or are idle",
    source: "Linux 5.14, Documentation/admin-guide/hw-vuln/core-scheduling.rst",
    is_without_siblings: false,
    make: |topology, seed| Box::new(CoreScheduling::new(topology, seed)),
};

/// A slice, what a woken task may be ahead and a new one is behind, in nanoseconds.
const SLICE: u64 = 3_000_000;

/// The tick, in nanoseconds.
const TICK: u64 = 4_000_000;

#[derive(Debug, Clone, Default)]
struct Queue {
    /// By cookie, and then by virtual run time.
    tasks: BTreeMap<u32, BTreeSet<(u64, TaskId)>>,
    length: usize,
    /// Sum of their weights.
    weight: u64,
    /// The cookie of the tasks that run.
    cookie: u32,
    /// The virtual run time of the task that has had least; it goes forward only.
    least: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entity {
    number: u64,
    virtual_run: u64,
    core: usize,
}

#[derive(Debug)]
struct CoreScheduling {
    queues: Vec<Queue>,
    entities: Vec<Entity>,
    waiting: Waiting,
    domains: Domains,
}

fn core(state: &State, cpu: usize) -> usize {
    state.topology().cpus[cpu].core
}

impl CoreScheduling {
    fn new(topology: &Topology, seed: u64) -> Self {
        Self {
            queues: vec![Queue::default(); topology.cores.len()],
            entities: Vec::new(),
            waiting: Waiting::new(topology),
            domains: Domains::new(topology, seed, false),
        }
    }

    fn entity(&mut self, state: &State, task: TaskId, core: usize) -> &mut Entity {
        let place = task.0 as usize;
        let number = state.task(task).number;
        if self.entities.len() <= place {
            self.entities.resize(place + 1, Entity { number: u64::MAX, virtual_run: 0, core });
        }
        if self.entities[place].number != number {
            self.entities[place] = Entity { number, virtual_run: self.queues[core].least, core };
        }
        &mut self.entities[place]
    }

    /// The cookie whose first task has the lowest virtual run time.
    fn best(&self, core: usize) -> Option<(u64, u32)> {
        let first = |(&cookie, tasks): (&u32, &BTreeSet<(u64, TaskId)>)| {
            tasks.first().map(|&(time, _)| (time, cookie))
        };
        self.queues[core].tasks.iter().filter_map(first).min()
    }

    /// Takes the first task of a cookie that may run on a CPU.
    fn take(&mut self, state: &State, core: usize, cookie: u32, cpu: usize) -> Option<TaskId> {
        let tasks = self.queues[core].tasks.get(&cookie)?;
        let &entry = tasks.iter().find(|(_, task)| state.may_run(*task, cpu))?;
        self.remove(state, core, cookie, entry);
        Some(entry.1)
    }

    fn remove(&mut self, state: &State, core: usize, cookie: u32, entry: (u64, TaskId)) {
        let queue = &mut self.queues[core];
        if let Some(tasks) = queue.tasks.get_mut(&cookie) {
            tasks.remove(&entry);
            if tasks.is_empty() {
                queue.tasks.remove(&cookie);
            }
        }
        queue.length -= 1;
        queue.weight -= state.task(entry.1).weight;
        self.waiting.ends(state, state.topology().cores[core][0]);
    }

    fn tasks(&self, state: &State, core: usize) -> usize {
        self.queues[core].length + state.running_on_core(core) as usize
    }

    /// Brings the least virtual run time up to that of the tasks that run or wait.
    fn advance(&mut self, state: &State, core: usize) {
        let running = state.topology().cores[core].iter().filter_map(|&cpu| state.running(cpu));
        let running = running.map(|task| self.entities[task.0 as usize].virtual_run);
        let waiting = self.best(core).map(|(time, _)| time);
        if let Some(least) = running.chain(waiting).min() {
            let queue = &mut self.queues[core];
            queue.least = queue.least.max(least);
        }
    }
}

/// The tasks that wait at a core are those of its first CPU.
impl load_balance::Queues for CoreScheduling {
    fn tasks(&self, state: &State, cpu: usize) -> usize {
        let core = core(state, cpu);
        let is_first = state.topology().cores[core][0] == cpu;
        let waiting = if is_first { self.queues[core].length } else { 0 };
        waiting + usize::from(state.running(cpu).is_some())
    }

    fn load(&self, state: &State, cpu: usize) -> u64 {
        let core = core(state, cpu);
        let is_first = state.topology().cores[core][0] == cpu;
        let waiting = if is_first { self.queues[core].weight } else { 0 };
        waiting + state.running(cpu).map_or(0, |task| state.task(task).weight)
    }

    fn has_waiting(&self, state: &State, cpus: &[usize]) -> bool {
        self.waiting.among(state, cpus)
    }

    fn candidates(&self, state: &State, cpu: usize) -> Vec<TaskId> {
        let core = core(state, cpu);
        if state.topology().cores[core][0] != cpu {
            return Vec::new();
        }
        let tasks = self.queues[core].tasks.values().flatten();
        let mut tasks: Vec<TaskId> = tasks.map(|&(_, task)| task).collect();
        tasks.sort_by_key(|&task| state.task(task).last_ran);
        tasks
    }

    fn is_unfit(&self, state: &State, task: TaskId, to: usize) -> bool {
        let core = core(state, to);
        state.running_on_core(core) > 0 && self.queues[core].cookie != state.task(task).cookie
    }

    fn transfer(&mut self, state: &State, task: TaskId, from: usize, to: usize) {
        let home = core(state, from);
        let virtual_run = self.entity(state, task, home).virtual_run;
        self.remove(state, home, state.task(task).cookie, (virtual_run, task));
        self.enqueue(state, task, to, Why::Pushed);
    }
}

impl Policy for CoreScheduling {
    /// CPU for a task: where it ran if it may begin there at once, or nothing is idle; else the core
    /// with the fewest tasks, an idle CPU of it first.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let cookie = state.task(task).cookie;
        let fits = |cpu: usize| {
            let core = core(state, cpu);
            state.is_idle(cpu) && (state.has_idle_core(cpu) || self.queues[core].cookie == cookie)
        };
        let home = arrival.cpu_before(state, task);
        let home = home.filter(|&cpu| state.may_run(task, cpu));
        let is_woken = matches!(arrival, Arrival::Woken(_));
        if let Some(home) = home.filter(|&cpu| is_woken && fits(cpu)) {
            return home;
        }
        if let Some(home) = home.filter(|_| state.idle_cpus() == 0) {
            return home;
        }
        let key = |cpu| {
            let core = core(state, cpu);
            (!state.has_idle_core(cpu), !fits(cpu), self.tasks(state, core), !state.is_idle(cpu))
        };
        least(state, task, around(state, home.unwrap_or(0)), key).unwrap_or(0)
    }

    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        let core = core(state, cpu);
        if matches!(why, Why::New | Why::Woken) {
            self.advance(state, core);
        }
        let home = self.entity(state, task, core).core;
        let [least, least_at_home] = [core, home].map(|core| self.queues[core].least);
        let entity = self.entity(state, task, core);
        if entity.core != core {
            entity.virtual_run = (entity.virtual_run + least).saturating_sub(least_at_home);
            entity.core = core;
        }
        match why {
            Why::New => entity.virtual_run = least + SLICE,
            Why::Woken => entity.virtual_run = entity.virtual_run.max(least.saturating_sub(SLICE)),
            Why::Expired | Why::Preempted | Why::Pushed => {}
        }
        let entry = (entity.virtual_run, task);
        let queue = &mut self.queues[core];
        queue.tasks.entry(state.task(task).cookie).or_default().insert(entry);
        queue.length += 1;
        queue.weight += state.task(task).weight;
        self.waiting.begins(state, cpu);
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let core = core(state, cpu);
        if state.running_on_core(core) > 0 {
            return self.take(state, core, self.queues[core].cookie, cpu);
        }
        // The core is free to choose; whom this CPU may not run is left to a sibling.
        let (_, cookie) = self.best(core)?;
        let task = self.take(state, core, cookie, cpu)?;
        self.queues[core].cookie = cookie;
        Some(task)
    }

    fn leaves_choice_to(&self, state: &State, cpu: usize) -> Option<usize> {
        let core = core(state, cpu);
        if state.running_on_core(core) > 0 {
            return None;
        }
        let (_, cookie) = self.best(core)?;
        let &(_, task) = self.queues[core].tasks[&cookie].first()?;
        let siblings = state.topology().cores[core].iter().copied();
        siblings.filter(|&sibling| sibling != cpu).find(|&sibling| state.may_run(task, sibling))
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64) {
        let weight = state.task(task).weight;
        let core = core(state, cpu);
        let virtual_run = (u128::from(ran) * 1024 / u128::from(weight)) as u64;
        self.entity(state, task, core).virtual_run += virtual_run;
        self.advance(state, core);
    }

    fn slice(&mut self, state: &State, cpu: usize, _task: TaskId) -> Option<u64> {
        (self.queues[core(state, cpu)].length > 0).then_some(SLICE)
    }

    fn slice_is_over(&mut self, state: &State, cpu: usize, task: TaskId) -> AfterSlice {
        let core = core(state, cpu);
        let own = self.entity(state, task, core).virtual_run;
        match self.best(core) {
            Some((time, cookie)) if time <= own => {
                if cookie == self.queues[core].cookie {
                    AfterSlice::Next
                } else {
                    AfterSlice::WholeCore
                }
            }
            _ => AfterSlice::Keep,
        }
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        let core = core(state, cpu);
        let is_same = state.task(woken).cookie == self.queues[core].cookie;
        let running = self.entity(state, running, core).virtual_run;
        is_same && running > self.entity(state, woken, core).virtual_run + SLICE
    }

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        let own = core(state, cpu);
        if when != Balance::Busy && self.queues[own].length > 0 {
            // What may run beside the siblings may have changed since this CPU picked.
            return if when == Balance::Idle { Balanced::Pulled } else { Balanced::Nothing };
        }
        let mut domains = std::mem::take(&mut self.domains);
        let moved = domains.balance(self, state, cpu, when);
        self.domains = domains;
        match moved {
            Moved::Nothing => Balanced::Nothing,
            Moved::Waiting => Balanced::Pulled,
            Moved::Running(from) => Balanced::Push(from),
        }
    }

    fn next_balance(&self, state: &State, cpu: usize, is_idle: bool) -> Option<u64> {
        // A sibling that has found no task of the cookie picks again at its own tick.
        self.domains.next(state, cpu, !is_idle).or_else(|| is_idle.then(|| state.now() + TICK))
    }

    fn moves_running(&self) -> bool {
        true
    }

    fn calls_siblings(&self) -> bool {
        true
    }
}
