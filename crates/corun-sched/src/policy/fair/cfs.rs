//! CFS: the task with the least virtual run time runs first.

use std::collections::BTreeSet;

use super::{Queues, scaling, virtual_time};
use crate::engine::{State, TaskId};
use crate::policy::Why;
use crate::topology::Topology;

/// The kernel's defaults before scaling, in nanoseconds: the period in which all run once, the least
/// slice, and how far behind a woken task must be to preempt.
const LATENCY: u64 = 6_000_000;
const GRANULARITY: u64 = 750_000;
const WAKE_UP: u64 = 1_000_000;

#[derive(Debug, Clone, Default)]
struct Queue {
    /// By virtual run time.
    tasks: BTreeSet<(i64, TaskId)>,
    /// No task that comes is put far before this.
    least: i64,
    /// Sum of the waiting tasks' weights.
    weight: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entity {
    number: u64,
    virtual_run: i64,
    /// The queue that its virtual time is of.
    home: usize,
}

/// The queues of CFS.
#[derive(Debug)]
pub(super) struct Cfs {
    queues: Vec<Queue>,
    entities: Vec<Entity>,
    scaling: u64,
}

impl Cfs {
    pub(super) fn new(topology: &Topology) -> Self {
        let queues = vec![Queue::default(); topology.cpus.len()];
        Self { queues, entities: Vec::new(), scaling: scaling(topology) }
    }

    fn entity(&mut self, state: &State, task: TaskId, cpu: usize) -> &mut Entity {
        let place = task.0 as usize;
        let number = state.task(task).number;
        if self.entities.len() <= place {
            self.entities.resize(place + 1, Entity { number: u64::MAX, virtual_run: 0, home: cpu });
        }
        if self.entities[place].number != number {
            let virtual_run = self.queues[cpu].least;
            self.entities[place] = Entity { number, virtual_run, home: cpu };
        }
        &mut self.entities[place]
    }

    /// The least virtual time goes forward only.
    fn advance(&mut self, cpu: usize, running: Option<i64>) {
        let first = self.queues[cpu].tasks.first().map(|&(time, _)| time);
        let least = first.into_iter().chain(running).min();
        let queue = &mut self.queues[cpu];
        queue.least = queue.least.max(least.unwrap_or(queue.least));
    }

    fn take(&mut self, state: &State, cpu: usize, entry: (i64, TaskId)) -> TaskId {
        let queue = &mut self.queues[cpu];
        queue.tasks.remove(&entry);
        queue.weight -= state.task(entry.1).weight;
        entry.1
    }
}

impl Queues for Cfs {
    fn insert(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        let weight = state.task(task).weight;
        let least = self.queues[cpu].least;
        let home = self.entity(state, task, cpu).home;
        let moved = least - self.queues[home].least;
        let slice = self.slice(state, task, cpu);
        let half_latency = (LATENCY * self.scaling / 2) as i64;
        let entity = self.entity(state, task, cpu);
        if entity.home != cpu {
            entity.virtual_run += moved;
            entity.home = cpu;
        }
        match why {
            // A new task waits for a turn; one that slept is ahead by half a period at most.
            Why::New => entity.virtual_run = least + virtual_time(slice, weight),
            Why::Woken => entity.virtual_run = entity.virtual_run.max(least - half_latency),
            Why::Expired | Why::Preempted | Why::Pushed => {}
        }
        let entry = (entity.virtual_run, task);
        let queue = &mut self.queues[cpu];
        queue.tasks.insert(entry);
        queue.weight += weight;
    }

    fn first(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let &entry = self.queues[cpu].tasks.first()?;
        let task = self.take(state, cpu, entry);
        self.advance(cpu, Some(entry.0));
        Some(task)
    }

    fn take_out(&mut self, state: &State, task: TaskId, from: usize) {
        let entry = (self.entity(state, task, from).virtual_run, task);
        self.take(state, from, entry);
    }

    fn waiting(&self, cpu: usize) -> impl Iterator<Item = TaskId> {
        self.queues[cpu].tasks.iter().map(|&(_, task)| task)
    }

    fn weight(&self, cpu: usize) -> u64 {
        self.queues[cpu].weight
    }

    fn len(&self, cpu: usize) -> usize {
        self.queues[cpu].tasks.len()
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64) {
        let weight = state.task(task).weight;
        let entity = self.entity(state, task, cpu);
        entity.virtual_run += virtual_time(ran, weight);
        let virtual_run = entity.virtual_run;
        self.advance(cpu, Some(virtual_run));
    }

    fn leave(&mut self, _state: &State, _task: TaskId, cpu: usize) {
        self.advance(cpu, None);
    }

    /// The task's share of the period in which each runs once.
    fn slice(&mut self, state: &State, task: TaskId, cpu: usize) -> u64 {
        let weight = state.task(task).weight;
        let count = self.queues[cpu].tasks.len() as u64 + 1;
        let period = (LATENCY * self.scaling).max(GRANULARITY * self.scaling * count);
        let all = self.queues[cpu].weight + weight;
        (period * weight / all).max(GRANULARITY * self.scaling)
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        let margin = virtual_time(WAKE_UP * self.scaling, state.task(woken).weight);
        let running = self.entity(state, running, cpu).virtual_run;
        running - self.entity(state, woken, cpu).virtual_run > margin
    }
}
