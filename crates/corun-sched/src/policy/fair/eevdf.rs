//! EEVDF: of the tasks that have had no more than their share, the one with the earliest virtual
//! deadline runs first.

use std::collections::BTreeSet;

use super::{Queues, scaling, virtual_time};
use crate::engine::{State, TaskId};
use crate::policy::Why;
use crate::topology::Topology;

/// The request of every task before scaling, in nanoseconds (`sched_base_slice`).
const SLICE: u64 = 750_000;

#[derive(Debug, Clone, Default)]
struct Queue {
    /// By virtual deadline.
    tasks: BTreeSet<(i64, TaskId)>,
    /// Sum of the waiting tasks' weights, and the sum of weight times virtual time.
    weight: i128,
    sum: i128,
    /// The virtual time of an empty queue.
    last: i64,
}

#[derive(Debug, Clone, Copy)]
struct Entity {
    number: u64,
    virtual_run: i64,
    deadline: i64,
    /// Lag behind the queue's virtual time when it left.
    lag: i64,
}

/// The queues of EEVDF.
#[derive(Debug)]
pub(super) struct Eevdf {
    queues: Vec<Queue>,
    entities: Vec<Entity>,
    slice: u64,
}

impl Eevdf {
    pub(super) fn new(topology: &Topology) -> Self {
        let queues = vec![Queue::default(); topology.cpus.len()];
        Self { queues, entities: Vec::new(), slice: SLICE * scaling(topology) }
    }

    fn entity(&mut self, state: &State, task: TaskId) -> &mut Entity {
        let place = task.0 as usize;
        let number = state.task(task).number;
        let none = Entity { number: u64::MAX, virtual_run: 0, deadline: 0, lag: 0 };
        if self.entities.len() <= place {
            self.entities.resize(place + 1, none);
        }
        if self.entities[place].number != number {
            self.entities[place] = Entity { number, ..none };
        }
        &mut self.entities[place]
    }

    /// The queue's virtual time: the mean of its tasks', the running one included, by weight.
    fn time(&mut self, state: &State, cpu: usize) -> i64 {
        let Queue { mut weight, mut sum, last, .. } = self.queues[cpu];
        if let Some(running) = state.running(cpu) {
            let heavy = i128::from(state.task(running).weight);
            weight += heavy;
            sum += heavy * i128::from(self.entity(state, running).virtual_run);
        }
        let time = if weight > 0 { sum.div_euclid(weight) as i64 } else { last };
        self.queues[cpu].last = time;
        time
    }

    fn take(&mut self, state: &State, cpu: usize, entry: (i64, TaskId)) -> TaskId {
        let weight = i128::from(state.task(entry.1).weight);
        let virtual_run = i128::from(self.entity(state, entry.1).virtual_run);
        let queue = &mut self.queues[cpu];
        queue.tasks.remove(&entry);
        queue.weight -= weight;
        queue.sum -= weight * virtual_run;
        entry.1
    }
}

impl Queues for Eevdf {
    fn insert(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        let weight = state.task(task).weight;
        let time = self.time(state, cpu);
        let slice = virtual_time(self.slice, weight);
        let all = self.queues[cpu].weight
            + state.running(cpu).map_or(0, |running| i128::from(state.task(running).weight));
        let entity = self.entity(state, task);
        match why {
            Why::Expired | Why::Preempted => {}
            Why::New => {
                entity.virtual_run = time;
                // A new task's first request is half as long, so that it begins soon.
                entity.deadline = time + slice / 2;
            }
            Why::Woken | Why::Pushed => {
                // The lag is kept: what the task's own weight moves the mean by is added to it.
                let lag = i128::from(entity.lag) * (all + i128::from(weight)) / all.max(1);
                let lag = if all == 0 { 0 } else { lag as i64 };
                entity.virtual_run = time - lag;
                entity.deadline = entity.virtual_run + slice;
            }
        }
        let (virtual_run, deadline) = (entity.virtual_run, entity.deadline);
        let queue = &mut self.queues[cpu];
        queue.tasks.insert((deadline, task));
        queue.weight += i128::from(weight);
        queue.sum += i128::from(weight) * i128::from(virtual_run);
    }

    fn first(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let time = self.time(state, cpu);
        let tasks = self.queues[cpu].tasks.iter();
        let eligible = tasks
            .clone()
            .find(|(_, task)| self.entities[task.0 as usize].virtual_run <= time)
            .or_else(|| self.queues[cpu].tasks.first());
        let &entry = eligible?;
        Some(self.take(state, cpu, entry))
    }

    fn take_out(&mut self, state: &State, task: TaskId, from: usize) {
        let time = self.time(state, from);
        let entry = (self.entity(state, task).deadline, task);
        self.take(state, from, entry);
        let entity = self.entity(state, task);
        entity.lag = time - entity.virtual_run;
    }

    fn waiting(&self, cpu: usize) -> impl Iterator<Item = TaskId> {
        self.queues[cpu].tasks.iter().map(|&(_, task)| task)
    }

    fn weight(&self, cpu: usize) -> u64 {
        self.queues[cpu].weight as u64
    }

    fn len(&self, cpu: usize) -> usize {
        self.queues[cpu].tasks.len()
    }

    fn charge(&mut self, state: &State, task: TaskId, _cpu: usize, ran: u64) {
        let weight = state.task(task).weight;
        let slice = virtual_time(self.slice, weight);
        let entity = self.entity(state, task);
        entity.virtual_run += virtual_time(ran, weight);
        if entity.virtual_run >= entity.deadline {
            entity.deadline = entity.virtual_run + slice;
        }
    }

    fn leave(&mut self, state: &State, task: TaskId, cpu: usize) {
        let most = virtual_time(2 * self.slice, state.task(task).weight);
        // The task no longer runs; the mean is that with it.
        let weight = i128::from(state.task(task).weight);
        let virtual_run = self.entity(state, task).virtual_run;
        let queue = &self.queues[cpu];
        let all = queue.weight + weight;
        let time = (queue.sum + weight * i128::from(virtual_run)).div_euclid(all) as i64;
        self.queues[cpu].last = time;
        self.entity(state, task).lag = (time - virtual_run).clamp(-most, most);
    }

    /// Until the deadline: a task that was picked runs its request to the end (`RUN_TO_PARITY`).
    fn slice(&mut self, state: &State, task: TaskId, _cpu: usize) -> u64 {
        let weight = u128::from(state.task(task).weight);
        let entity = self.entity(state, task);
        let left = (entity.deadline - entity.virtual_run).max(1) as u128;
        (left * weight).div_ceil(1024) as u64
    }

    fn preempts(&mut self, _state: &State, _woken: TaskId, _running: TaskId, _cpu: usize) -> bool {
        false
    }
}
