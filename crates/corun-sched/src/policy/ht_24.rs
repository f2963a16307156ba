//! `flat` with the one change of Linux 2.4.17 for siblings: a core that is idle as a whole comes before
//! the idle sibling of a busy CPU. Each decision looks at every runnable task, under one lock.

use super::flat::Flat;
use super::{Arrival, Balance, Balanced, Decision, Policy, PolicyEntry, Turn, Why, around, least};
use crate::engine::{State, TaskId};

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "ht-2.4",
    summary: "flat, but an idle core is preferred; a decision looks at all runnable tasks",
    source: "Linux 2.4.17 and later, kernel/sched.c: reschedule_idle, goodness",
    is_without_siblings: false,
    make: |topology, seed| Box::new(Ht24(Flat::new(topology, seed))),
};

#[derive(Debug)]
struct Ht24(Flat);

impl Policy for Ht24 {
    /// `reschedule_idle`: the CPU that the task ran on last if it is idle, else a CPU of an idle core,
    /// else an idle CPU, else where it would be without.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let last = match arrival {
            Arrival::New(parent) => parent,
            Arrival::Woken(_) => state.task(task).last_cpu,
        };
        let is_good = |cpu: &usize| state.may_run(task, *cpu) && state.is_idle(*cpu);
        if let Some(last) = last.filter(is_good) {
            return last;
        }
        if state.idle_cpus() > 0 {
            let idle = around(state, last.unwrap_or(0)).filter(|&cpu| state.is_idle(cpu));
            if let Some(cpu) = least(state, task, idle, |cpu| !state.has_idle_core(cpu)) {
                return cpu;
            }
        }
        self.0.place(state, task, arrival)
    }

    fn decision(&self, state: &State, _cpu: usize) -> Decision {
        Decision { looked_at: state.waiting(), lock: 0 }
    }

    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        self.0.enqueue(state, task, cpu, why);
    }

    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        self.0.pick(state, cpu)
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, ran: u64) {
        self.0.charge(state, task, cpu, ran);
    }

    fn fork(&mut self, state: &State, parent: TaskId, child: TaskId) -> bool {
        self.0.fork(state, parent, child)
    }

    fn exit(&mut self, state: &State, child: TaskId, parent: TaskId) {
        self.0.exit(state, child, parent);
    }

    fn slice(&mut self, state: &State, cpu: usize, task: TaskId) -> Option<u64> {
        self.0.slice(state, cpu, task)
    }

    fn slice_is_over(&mut self, state: &State, cpu: usize, task: TaskId) -> Turn {
        self.0.slice_is_over(state, cpu, task)
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        self.0.preempts(state, woken, running, cpu)
    }

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        self.0.balance(state, cpu, when)
    }

    fn balance_interval(&self, state: &State, is_idle: bool) -> Option<u64> {
        self.0.balance_interval(state, is_idle)
    }
}
