//! Core scheduling: only tasks with the same cookie run on a core at the same time; a sibling that has no
//! such task stays idle. When a slice is over, the whole core chooses anew.
//!
//! Virtual run times and balancing as in CFS, in one queue a core. A task that is moved beside one that
//! runs has its cookie where there is such a task (`sched_core_cookie_match`).

use std::collections::{BTreeMap, BTreeSet};

use super::domains::Waiting;
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

/// A slice, what a woken task may be ahead and a new one is behind, in nanoseconds.
const SLICE: u64 = 3_000_000;
/// Balancing by the timer.
const IDLE_INTERVAL: u64 = 4_000_000;
const BUSY_INTERVAL: u64 = 64_000_000;

#[derive(Debug, Clone, Default)]
struct Queue {
    /// By cookie, and then by virtual run time.
    tasks: BTreeMap<u32, BTreeSet<(u64, TaskId)>>,
    length: usize,
    /// The cookie of the tasks that run.
    cookie: u32,
    /// The virtual run time of whoever is farthest behind; it goes forward only.
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
}

fn core(state: &State, cpu: usize) -> usize {
    state.topology().cpus[cpu].core
}

impl CoreScheduling {
    fn new(topology: &Topology) -> Self {
        Self {
            queues: vec![Queue::default(); topology.cores.len()],
            entities: Vec::new(),
            waiting: Waiting::new(topology),
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
        self.waiting.ends(state, state.topology().cores[core][0]);
        Some(entry.1)
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

    /// The core behind a cache with most tasks, of those that have one to give away.
    fn busiest(&self, state: &State, own: usize, cache: usize) -> Option<usize> {
        let topology = state.topology();
        let cpus = topology.caches[cache].iter().copied();
        let cores = cpus.map(|cpu| (cpu, core(state, cpu)));
        let others = cores.filter(|&(cpu, core)| core != own && topology.cores[core][0] == cpu);
        let others = others.map(|(_, core)| core).filter(|&core| self.queues[core].length > 0);
        others.max_by_key(|&core| (self.tasks(state, core), usize::MAX - core))
    }

    /// Moves a waiting task of one of these cookies, tried in their order.
    fn pull(&mut self, state: &State, from: usize, cpu: usize, cookies: &[u32]) -> Balanced {
        let mut cookies = cookies.iter();
        match cookies.find_map(|&cookie| self.take(state, from, cookie, cpu)) {
            Some(task) => {
                self.enqueue(state, task, cpu, Why::Pushed);
                Balanced::Pulled
            }
            None => Balanced::Nothing,
        }
    }

    /// A busy core takes half of what another has more, an idle CPU a task that it may begin at once.
    fn relieve(&mut self, state: &State, from: usize, cpu: usize, is_busy: bool) -> Balanced {
        let own = core(state, cpu);
        let runs = self.queues[own].cookie;
        let is_free = state.running_on_core(own) == 0;
        match (is_busy, is_free) {
            (true, _) => {
                let tasks = [from, own].map(|core| self.tasks(state, core));
                let mut balanced = Balanced::Nothing;
                for _ in 0..tasks[0].saturating_sub(tasks[1]) / 2 {
                    let cookies = self.cookies(from, runs, true);
                    if self.pull(state, from, cpu, &cookies) == Balanced::Nothing {
                        break;
                    }
                    balanced = Balanced::Pulled;
                }
                balanced
            }
            // Those that cannot run beside what runs there come first.
            (false, true) => {
                let cookies = self.cookies(from, self.queues[from].cookie, false);
                self.pull(state, from, cpu, &cookies)
            }
            (false, false) => self.pull(state, from, cpu, &[runs]),
        }
    }

    /// The cookies that wait at a core: the one of this cookie first, or last.
    fn cookies(&self, core: usize, cookie: u32, is_first: bool) -> Vec<u32> {
        let mut cookies: Vec<u32> = self.queues[core].tasks.keys().copied().collect();
        cookies.sort_by_key(|&it| (it == cookie) != is_first);
        cookies
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

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        let own = core(state, cpu);
        if state.waiting() == 0 {
            return Balanced::Nothing;
        }
        let is_busy = when == Balance::Busy;
        if !is_busy && self.queues[own].length > 0 {
            // What may run beside the siblings may have changed since this CPU looked.
            return if when == Balance::Idle { Balanced::Pulled } else { Balanced::Nothing };
        }
        let caches = self.waiting.looked_behind(state, cpu, when).into_iter().flatten();
        for cache in caches {
            if let Some(from) = self.busiest(state, own, cache)
                && self.relieve(state, from, cpu, is_busy) == Balanced::Pulled
            {
                return Balanced::Pulled;
            }
        }
        Balanced::Nothing
    }

    fn balance_interval(&self, _state: &State, is_idle: bool) -> Option<u64> {
        Some(if is_idle { IDLE_INTERVAL } else { BUSY_INTERVAL })
    }

    fn calls_siblings(&self) -> bool {
        true
    }
}
