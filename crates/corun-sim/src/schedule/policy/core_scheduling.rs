//! Core scheduling: only tasks with the same cookie run on a core at the same time; a sibling that has no
//! such task stays idle. When a slice is over, the whole core chooses anew.
//!
//! Virtual run times as in CFS, in one queue a core; across cores tasks wait for idle cores only.

use std::collections::{BTreeMap, BTreeSet};

use super::{Arrival, Balance, Balanced, Policy, PolicyEntry, Turn, Why, around, least};
use crate::schedule::engine::{State, TaskId};
use crate::schedule::topology::Topology;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "core",
    summary: "core scheduling: siblings run tasks of one cookie only, or are idle",
    source: "Linux 5.14, Documentation/admin-guide/hw-vuln/core-scheduling.rst",
    is_without_siblings: false,
    make: |topology, _| Box::new(CoreScheduling::new(topology)),
};

/// A slice, and what a woken task may be ahead, in nanoseconds.
const SLICE: u64 = 3_000_000;
const INTERVAL: u64 = 4_000_000;

#[derive(Debug, Clone, Default)]
struct Queue {
    /// By cookie, and then by virtual run time.
    tasks: BTreeMap<u32, BTreeSet<(u64, TaskId)>>,
    length: usize,
    /// The cookie of the tasks that run.
    cookie: u32,
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
}

fn core(state: &State, cpu: usize) -> usize {
    state.topology().cpus[cpu].core
}

impl CoreScheduling {
    fn new(topology: &Topology) -> Self {
        Self { queues: vec![Queue::default(); topology.cores.len()], entities: Vec::new() }
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

    /// The cookie whose first task is farthest behind.
    fn best(&self, core: usize) -> Option<(u64, u32)> {
        let first = |(&cookie, tasks): (&u32, &BTreeSet<(u64, TaskId)>)| {
            tasks.first().map(|&(time, _)| (time, cookie))
        };
        self.queues[core].tasks.iter().filter_map(first).min()
    }

    /// Takes the first task of a cookie that may run on a CPU.
    fn take(&mut self, state: &State, core: usize, cookie: u32, cpu: usize) -> Option<TaskId> {
        let queue = &mut self.queues[core];
        let tasks = queue.tasks.get_mut(&cookie)?;
        let &entry = tasks.iter().find(|(_, task)| state.may_run(*task, cpu))?;
        tasks.remove(&entry);
        if tasks.is_empty() {
            queue.tasks.remove(&cookie);
        }
        queue.length -= 1;
        Some(entry.1)
    }

    fn tasks(&self, state: &State, core: usize) -> usize {
        self.queues[core].length + state.running_on_core(core) as usize
    }
}

impl Policy for CoreScheduling {
    /// Where it ran if it may begin there at once, or nothing is idle; else the core with the fewest
    /// tasks, an idle CPU of it first.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let cookie = state.task(task).cookie;
        let fits = |cpu: usize| {
            let core = core(state, cpu);
            state.is_idle(cpu) && (state.has_idle_core(cpu) || self.queues[core].cookie == cookie)
        };
        let home = match arrival {
            Arrival::New(parent) => parent,
            Arrival::Woken(_) => state.task(task).last_cpu,
        };
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
        let home = self.entity(state, task, core).core;
        let [least, least_at_home] = [core, home].map(|core| self.queues[core].least);
        let entity = self.entity(state, task, core);
        if entity.core != core {
            entity.virtual_run = (entity.virtual_run + least).saturating_sub(least_at_home);
            entity.core = core;
        }
        match why {
            Why::New => entity.virtual_run = least,
            Why::Woken => entity.virtual_run = entity.virtual_run.max(least.saturating_sub(SLICE)),
            Why::Expired | Why::Preempted | Why::Pushed => {}
        }
        let entry = (entity.virtual_run, task);
        let queue = &mut self.queues[core];
        queue.tasks.entry(state.task(task).cookie).or_default().insert(entry);
        queue.length += 1;
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let core = core(state, cpu);
        if state.running_on_core(core) > 0 {
            return self.take(state, core, self.queues[core].cookie, cpu);
        }
        let (least, _) = self.best(core)?;
        // The core is free to choose; a task that may not run here leaves the choice to a sibling.
        let mut cookies: Vec<(u64, u32)> = self.queues[core]
            .tasks
            .iter()
            .filter_map(|(&cookie, tasks)| tasks.first().map(|&(time, _)| (time, cookie)))
            .collect();
        cookies.sort_unstable();
        let found = cookies
            .into_iter()
            .find_map(|(_, cookie)| Some((self.take(state, core, cookie, cpu)?, cookie)));
        let (task, cookie) = found?;
        let queue = &mut self.queues[core];
        queue.cookie = cookie;
        queue.least = queue.least.max(least);
        Some(task)
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64) {
        let weight = state.task(task).weight;
        let core = core(state, cpu);
        self.entity(state, task, core).virtual_run += ran * 1024 / weight;
    }

    fn slice(&mut self, state: &State, cpu: usize, _task: TaskId) -> Option<u64> {
        (self.queues[core(state, cpu)].length > 0).then_some(SLICE)
    }

    fn slice_is_over(&mut self, state: &State, cpu: usize, task: TaskId) -> Turn {
        let core = core(state, cpu);
        let own = self.entity(state, task, core).virtual_run;
        match self.best(core) {
            Some((time, cookie)) if time <= own => {
                if cookie == self.queues[core].cookie {
                    Turn::Next
                } else {
                    Turn::WholeCore
                }
            }
            _ => Turn::Keep,
        }
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        let core = core(state, cpu);
        let is_same = state.task(woken).cookie == self.queues[core].cookie;
        let running = self.entity(state, running, core).virtual_run;
        is_same && running > self.entity(state, woken, core).virtual_run + SLICE
    }

    /// A CPU of an idle core takes a waiting task of the core with most.
    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        let own = core(state, cpu);
        if when == Balance::Busy || state.waiting() == 0 {
            return Balanced::Nothing;
        }
        if self.queues[own].length > 0 {
            // What may run beside the siblings may have changed since this CPU looked.
            return if when == Balance::Idle { Balanced::Pulled } else { Balanced::Nothing };
        }
        if state.running_on_core(own) > 0 {
            return Balanced::Nothing;
        }
        let cores = (0..self.queues.len()).filter(|&core| self.queues[core].length > 0);
        let Some(from) = cores.max_by_key(|&core| (self.tasks(state, core), usize::MAX - core))
        else {
            return Balanced::Nothing;
        };
        // Those that cannot run beside what runs there come first.
        let mut cookies: Vec<u32> = self.queues[from].tasks.keys().copied().collect();
        cookies.sort_by_key(|&cookie| cookie == self.queues[from].cookie);
        let found = cookies.into_iter().find_map(|cookie| self.take(state, from, cookie, cpu));
        let Some(task) = found else { return Balanced::Nothing };
        self.enqueue(state, task, cpu, Why::Pushed);
        Balanced::Pulled
    }

    fn balance_interval(&self, _state: &State, is_idle: bool) -> Option<u64> {
        is_idle.then_some(INTERVAL)
    }

    fn calls_siblings(&self) -> bool {
        true
    }
}
