//! One run queue a core, with the five properties of the patch for Linux 2.5.31: balancing by cores,
//! active balancing, pickup within the core first, affinity to the core, and waking on the idle sibling.
//!
//! One queue for all siblings makes three of the five by itself, since siblings see the same tasks.

use super::array::{ArrayPolicy, Arrays, Puller};
use super::flat::{BUSY_INTERVAL, IDLE_INTERVAL};
use super::{Arrival, Balance, Balanced, PolicyEntry, around, least};
use crate::engine::{State, TaskId};
use crate::topology::Topology;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "ht-2.5",
    summary: "one run queue a core: balancing by cores, also of running tasks",
    source: "Molnar, patch against Linux 2.5.31, Linux kernel mailing list, 27 August 2002",
    is_without_siblings: false,
    make: |topology, _| Box::new(Ht25 { arrays: Arrays::new(topology.cores.len()) }),
};

#[derive(Debug)]
struct Ht25 {
    /// A queue for each core.
    arrays: Arrays,
}

fn core(state: &State, cpu: usize) -> usize {
    state.topology().cpus[cpu].core
}

impl Ht25 {
    /// Tasks of a core, the running ones included.
    fn tasks(&self, state: &State, core: usize) -> usize {
        self.arrays.len(core) + state.running_on_core(core) as usize
    }

    /// Active balancing: a core that is idle takes a running task from one that has no idle sibling.
    fn push(&self, state: &State, cpu: usize) -> Balanced {
        let topology: &Topology = state.topology();
        if state.running_on_core(core(state, cpu)) > 0 {
            return Balanced::Nothing;
        }
        let others = topology.cores.iter().filter(|core| core.len() > 1);
        let full = others.filter(|core| core.iter().all(|&cpu| state.running(cpu).is_some()));
        let movable = full
            .flatten()
            .copied()
            .find(|&from| state.running(from).is_some_and(|task| state.may_run(task, cpu)));
        movable.map_or(Balanced::Nothing, Balanced::Push)
    }
}

impl ArrayPolicy for Ht25 {
    fn arrays(&mut self) -> &mut Arrays {
        &mut self.arrays
    }

    fn queue(&self, state: &State, cpu: usize) -> usize {
        core(state, cpu)
    }

    /// CPU for a task: its own if that is idle, else an idle sibling, else the CPU of the core that it
    /// may preempt. A new task begins where its parent runs; one from outside on the core with the
    /// fewest tasks.
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let home = arrival.cpu_before(state, task);
        let Some(home) = home else {
            let key = |cpu| (self.tasks(state, core(state, cpu)), !state.is_idle(cpu));
            return least(state, task, around(state, 0), key).unwrap_or(0);
        };
        let siblings = state.topology().siblings(home).iter().copied();
        let siblings = std::iter::once(home).chain(siblings.filter(|&cpu| cpu != home));
        let mut allowed = siblings.filter(|&cpu| state.may_run(task, cpu)).peekable();
        let Some(&first) = allowed.peek() else {
            let key = |cpu| self.tasks(state, core(state, cpu));
            return least(state, task, around(state, home), key).unwrap_or(home);
        };
        let mut worse = None;
        for cpu in allowed {
            if state.is_idle(cpu) {
                return cpu;
            }
            let running = state.running(cpu);
            let is_worse = running.is_some_and(|it| self.arrays.is_better(state, task, it));
            worse = worse.or(is_worse.then_some(cpu));
        }
        worse.unwrap_or(first)
    }

    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        let own_core = core(state, cpu);
        let is_idle = when != Balance::Busy;
        let own = self.tasks(state, own_core);
        if is_idle && self.arrays.len(own_core) > 0 {
            return Balanced::Nothing;
        }
        let cores = (0..state.topology().cores.len()).filter(|&other| other != own_core);
        let with_waiting = cores.filter(|&other| self.arrays.len(other) > 0);
        let busiest = with_waiting.max_by_key(|&it| (self.tasks(state, it), usize::MAX - it));
        if let Some(busiest) = busiest {
            let most = self.tasks(state, busiest);
            let imbalance = most.saturating_sub(own) / 2;
            // An idle sibling has use for one more even where halves are equal.
            let imbalance = if is_idle { imbalance.max(1) } else { imbalance };
            let is_enough = is_idle || (imbalance > 0 && imbalance >= most.div_ceil(4));
            let puller = Puller { cpu, queue: own_core, is_idle };
            if is_enough && self.arrays.pull(state, busiest, puller, imbalance) == Balanced::Pulled
            {
                return Balanced::Pulled;
            }
        }
        if is_idle { self.push(state, cpu) } else { Balanced::Nothing }
    }

    fn balance_interval(&self, _state: &State, is_idle: bool) -> Option<u64> {
        Some(if is_idle { IDLE_INTERVAL } else { BUSY_INTERVAL })
    }

    fn moves_running(&self) -> bool {
        true
    }
}
