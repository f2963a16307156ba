//! The priority arrays of Linux 2.5's O(1) scheduler: tasks in order of priority, and after them those
//! whose slice is over.
//!
//! A task that sleeps much gains up to five levels, one that never sleeps loses five (Linux 2.5.31,
//! `kernel/sched.c`: `effective_prio`, `MAX_SLEEP_AVG`). An expired task waits until no active one is left;
//! one that is balanced away begins again among the active ones of its new queue (`pull_task`).
//!
//! That none starves needs two more rules. A task that is started takes half of what its parent has left
//! of its slice, and gives back at its end what it did not use (`wake_up_forked_process`, `sched_exit`;
//! `do_fork` and `release_task` in 2.4): else who starts many would never expire. And a task that wakes with
//! nothing left is among the expired; the kernel gives it a new slice and leaves it among the active.

use std::collections::VecDeque;

use crate::engine::{State, TaskId};
use crate::policy::{AfterSlice, Arrival, Balance, Balanced, Policy, Why};

/// A full slice at nice 0, in nanoseconds.
const SLICE: u64 = 100_000_000;
/// The most that a task has of it.
const MAX_SLICE: u64 = 3 * SLICE;
/// A tick, the least that a task is started with, in nanoseconds.
const TICK: u64 = 1_000_000;
/// Slept or run time beyond this is forgotten, in nanoseconds.
const MAX_SLEEP: u64 = 2_000_000_000;
/// Levels of priority by sleeping, the first runs first.
const LEVELS: usize = 11;

/// A task that ran within this time is warm: a busy CPU leaves it where it is. In nanoseconds.
const CACHE_DECAY: u64 = 10_000_000;

/// A policy whose waiting tasks lie in priority arrays, one queue a CPU unless it says otherwise. Order,
/// slices and preemption are those of the arrays.
pub(super) trait ArrayPolicy {
    fn arrays(&mut self) -> &mut Arrays;

    /// The queue of a CPU.
    fn queue(&self, _state: &State, cpu: usize) -> usize {
        cpu
    }

    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize;

    fn balance(&mut self, _state: &State, _cpu: usize, _when: Balance) -> Balanced {
        Balanced::Nothing
    }

    fn balance_interval(&self, _state: &State, _is_idle: bool) -> Option<u64> {
        None
    }

    fn moves_running(&self) -> bool {
        false
    }
}

impl<P: ArrayPolicy> Policy for P {
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        ArrayPolicy::place(self, state, task, arrival)
    }

    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        let queue = self.queue(state, cpu);
        self.arrays().enqueue(state, task, queue, why);
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let queue = self.queue(state, cpu);
        self.arrays().pick(state, queue, cpu)
    }

    fn charge(&mut self, state: &State, task: TaskId, _cpu: usize, ran: u64) {
        self.arrays().charge(state, task, ran);
    }

    fn fork(&mut self, state: &State, parent: TaskId, child: TaskId) -> bool {
        self.arrays().fork(state, parent, child);
        true
    }

    fn exit(&mut self, state: &State, child: TaskId, parent: TaskId) {
        self.arrays().exit(state, child, parent);
    }

    fn slice(&mut self, state: &State, _cpu: usize, task: TaskId) -> Option<u64> {
        Some(self.arrays().slice(state, task))
    }

    fn slice_is_over(&mut self, state: &State, cpu: usize, task: TaskId) -> AfterSlice {
        let queue = self.queue(state, cpu);
        match self.arrays().renew(state, task) && self.arrays().len(queue) > 0 {
            true => AfterSlice::Next,
            false => AfterSlice::Keep,
        }
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, _cpu: usize) -> bool {
        self.arrays().is_better(state, woken, running)
    }

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        ArrayPolicy::balance(self, state, cpu, when)
    }

    fn balance_interval(&self, state: &State, is_idle: bool) -> Option<u64> {
        ArrayPolicy::balance_interval(self, state, is_idle)
    }

    fn moves_running(&self) -> bool {
        ArrayPolicy::moves_running(self)
    }
}

/// A CPU that takes tasks from others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Puller {
    pub(super) cpu: usize,
    /// Own queue.
    pub(super) queue: usize,
    pub(super) is_idle: bool,
}

/// State of a task in the arrays.
#[derive(Debug, Clone, Copy)]
struct Memory {
    number: u64,
    slice_left: u64,
    /// True if the slice is the one that its parent shared with it.
    is_shared: bool,
    slept: u64,
}

/// One queue: tasks by level, active and expired.
#[derive(Debug, Default)]
struct Queue {
    active: [VecDeque<TaskId>; LEVELS],
    expired: [VecDeque<TaskId>; LEVELS],
    length: usize,
}

/// Queues, and what is remembered of tasks.
#[derive(Debug)]
pub(super) struct Arrays {
    queues: Vec<Queue>,
    tasks: Vec<Memory>,
}

impl Arrays {
    pub(super) fn new(count: usize) -> Self {
        Self { queues: (0..count).map(|_| Queue::default()).collect(), tasks: Vec::new() }
    }

    /// Waiting tasks of a queue.
    pub(super) fn len(&self, queue: usize) -> usize {
        self.queues[queue].length
    }

    pub(super) fn enqueue(&mut self, state: &State, task: TaskId, queue: usize, why: Why) {
        let memory = self.memory(state, task);
        if why == Why::Woken {
            let slept = state.now() - state.task(task).blocked_since;
            memory.slept = (memory.slept + slept).min(MAX_SLEEP);
        }
        let is_expired = self.renew(state, task) || why == Why::Expired;
        let level = self.level(task);
        let queue = &mut self.queues[queue];
        queue.length += 1;
        let array = if is_expired { &mut queue.expired } else { &mut queue.active };
        match why {
            // It goes on first when its turn comes.
            Why::Preempted => array[level].push_front(task),
            _ => array[level].push_back(task),
        }
    }

    /// Takes the first task that may run on a CPU; when no active one may, the arrays change places.
    pub(super) fn pick(&mut self, state: &State, queue: usize, cpu: usize) -> Option<TaskId> {
        let held = &mut self.queues[queue];
        if held.length == 0 {
            return None;
        }
        if held.active.iter().all(VecDeque::is_empty) {
            std::mem::swap(&mut held.active, &mut held.expired);
        }
        let arrays = [&mut held.active, &mut held.expired];
        let found = arrays.into_iter().flatten().find_map(|level| {
            let place = level.iter().position(|&task| state.may_run(task, cpu))?;
            level.remove(place)
        });
        held.length -= usize::from(found.is_some());
        found
    }

    /// Moves tasks, at most so many, from a queue to that of another CPU, among its active ones; a busy
    /// CPU leaves those that are warm.
    pub(super) fn pull(&mut self, state: &State, from: usize, to: Puller, most: usize) -> Balanced {
        let now = state.now();
        let is_wanted = |task| to.is_idle || now - state.task(task).last_ran > CACHE_DECAY;
        let mut moved = 0;
        while moved < most
            && let Some(task) = self.steal(state, from, to.cpu, is_wanted)
        {
            self.enqueue(state, task, to.queue, Why::Pushed);
            moved += 1;
        }
        if moved > 0 { Balanced::Pulled } else { Balanced::Nothing }
    }

    /// Takes a task from the end of a queue for another CPU: an expired one first, since it would wait
    /// longest.
    fn steal(
        &mut self,
        state: &State,
        queue: usize,
        to: usize,
        is_wanted: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let held = &mut self.queues[queue];
        let arrays = [&mut held.expired, &mut held.active];
        let found = arrays.into_iter().flatten().find_map(|level| {
            let may = |&task: &TaskId| state.may_run(task, to) && is_wanted(task);
            let place = level.iter().rposition(may)?;
            level.remove(place)
        });
        held.length -= usize::from(found.is_some());
        found
    }

    pub(super) fn charge(&mut self, state: &State, task: TaskId, ran: u64) {
        let memory = self.memory(state, task);
        memory.slice_left = memory.slice_left.saturating_sub(ran);
        memory.slept = memory.slept.saturating_sub(ran);
    }

    /// Rest of a task's slice, in nanoseconds.
    pub(super) fn slice(&mut self, state: &State, task: TaskId) -> u64 {
        self.memory(state, task).slice_left
    }

    /// Gives a task a new slice where its old one is over; whether it was.
    pub(super) fn renew(&mut self, state: &State, task: TaskId) -> bool {
        let memory = self.memory(state, task);
        let is_over = memory.slice_left == 0;
        if is_over {
            memory.slice_left = full_slice(state, task);
            memory.is_shared = false;
        }
        is_over
    }

    /// A task that starts another shares its slice with it.
    pub(super) fn fork(&mut self, state: &State, parent: TaskId, child: TaskId) {
        let held = self.memory(state, parent);
        let share = held.slice_left.div_ceil(2).max(TICK);
        held.slice_left = held.slice_left.saturating_sub(share);
        let started = self.memory(state, child);
        started.slice_left = share;
        started.is_shared = true;
    }

    /// A task that ends gives back what it did not use of the slice that it was started with.
    pub(super) fn exit(&mut self, state: &State, child: TaskId, parent: TaskId) {
        let Memory { slice_left, is_shared, .. } = *self.memory(state, child);
        if is_shared {
            let held = self.memory(state, parent);
            held.slice_left = (held.slice_left + slice_left).min(MAX_SLICE);
        }
    }

    /// True if one task is of better priority than another.
    pub(super) fn is_better(&mut self, state: &State, one: TaskId, other: TaskId) -> bool {
        self.memory(state, one);
        self.memory(state, other);
        self.level(one) < self.level(other)
    }

    /// The level by sleeping: 0 for a task that always slept, the last for one that never did.
    fn level(&self, task: TaskId) -> usize {
        let slept = self.tasks[task.0 as usize].slept;
        (LEVELS - 1) - (slept * (LEVELS as u64 - 1) / MAX_SLEEP) as usize
    }

    fn memory(&mut self, state: &State, task: TaskId) -> &mut Memory {
        let place = task.0 as usize;
        let number = state.task(task).number;
        if self.tasks.len() <= place {
            let none = Memory { number: u64::MAX, slice_left: 0, is_shared: false, slept: 0 };
            self.tasks.resize(place + 1, none);
        }
        if self.tasks[place].number != number {
            let slice_left = full_slice(state, task);
            self.tasks[place] = Memory { number, slice_left, is_shared: false, slept: 0 };
        }
        &mut self.tasks[place]
    }
}

/// A slice in proportion to the task's weight, from a tenth to three times the usual.
fn full_slice(state: &State, task: TaskId) -> u64 {
    (SLICE * state.task(task).weight / 1024).clamp(SLICE / 10, MAX_SLICE)
}
