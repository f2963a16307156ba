//! One run queue for the whole machine: every runnable task takes its turn on whatever CPU is free.
//!
//! The textbook's equal sharing, and how Linux worked up to 2.4 but for its search among all tasks.

use super::array::{ArrayPolicy, Arrays};
use super::{Arrival, PolicyEntry, around, least};
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

impl ArrayPolicy for Global {
    fn arrays(&mut self) -> &mut Arrays {
        &mut self.arrays
    }

    fn queue(&self, _state: &State, _cpu: usize) -> usize {
        0
    }

    /// The CPU that it ran on last if that is idle, else any idle one, those of idle cores first.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let last = arrival.cpu_before(state, task);
        let last = last.filter(|&cpu| state.may_run(task, cpu));
        if let Some(last) = last.filter(|&cpu| state.is_idle(cpu) || state.idle_cpus() == 0) {
            return last;
        }
        let key = |cpu| (!state.is_idle(cpu), !state.has_idle_core(cpu));
        least(state, task, around(state, last.unwrap_or(0)), key).unwrap_or(0)
    }
}
