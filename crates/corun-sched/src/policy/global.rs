//! One run queue for the whole machine: every runnable task takes its turn on whatever CPU is free.
//!
//! The textbook's equal sharing, and how Linux worked up to 2.4 but for its search among all tasks.

use super::array::Arrays;
use super::{AfterSlice, Arrival, Policy, PolicyEntry, Why, around, least};
use crate::engine::{State, TaskId};

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "global",
    summary: "one run queue for the machine: equal sharing",
    source: "the textbook's; Linux up to 2.4 had one queue",
    is_without_siblings: false,
    make: |_, _| Box::new(Global { arrays: Arrays::new(1) }),
};

#[derive(Debug)]
struct Global {
    arrays: Arrays,
}

impl Policy for Global {
    /// The CPU that it ran on last if that is idle, else any idle one, those of idle cores first.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let last = match arrival {
            Arrival::New(parent) => parent,
            Arrival::Woken(_) => state.task(task).last_cpu,
        };
        let last = last.filter(|&cpu| state.may_run(task, cpu));
        if let Some(last) = last.filter(|&cpu| state.is_idle(cpu) || state.idle_cpus() == 0) {
            return last;
        }
        let key = |cpu| (!state.is_idle(cpu), !state.has_idle_core(cpu));
        least(state, task, around(state, last.unwrap_or(0)), key).unwrap_or(0)
    }

    fn enqueue(&mut self, state: &State, task: TaskId, _cpu: usize, why: Why) {
        self.arrays.enqueue(state, task, 0, why);
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        self.arrays.pick(state, 0, cpu)
    }

    fn charge(&mut self, state: &State, task: TaskId, _cpu: usize, ran: u64) {
        self.arrays.charge(state, task, ran);
    }

    fn fork(&mut self, state: &State, parent: TaskId, child: TaskId) -> bool {
        self.arrays.fork(state, parent, child);
        true
    }

    fn exit(&mut self, state: &State, child: TaskId, parent: TaskId) {
        self.arrays.exit(state, child, parent);
    }

    fn slice(&mut self, state: &State, _cpu: usize, task: TaskId) -> Option<u64> {
        Some(self.arrays.slice(state, task))
    }

    fn slice_is_over(&mut self, state: &State, _cpu: usize, task: TaskId) -> AfterSlice {
        match self.arrays.renew(state, task) && self.arrays.len(0) > 0 {
            true => AfterSlice::Next,
            false => AfterSlice::Keep,
        }
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, _cpu: usize) -> bool {
        self.arrays.is_better(state, woken, running)
    }
}
