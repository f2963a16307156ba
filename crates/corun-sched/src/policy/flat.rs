//! A run queue for each logical CPU, and no knowledge of siblings: Linux 2.5.31.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::array::{ArrayPolicy, Arrays, Puller};
use super::{Arrival, Balance, Balanced, PolicyEntry, least};
use crate::engine::{State, TaskId};
use crate::topology::Topology;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "flat",
    summary: "a run queue a logical CPU; idle CPUs pull, none knows siblings",
    source: "Linux 2.5.31, kernel/sched.c (the O(1) scheduler, Molnar 2002)",
    is_without_siblings: false,
    make: |topology, seed| Box::new(Flat::new(topology, seed)),
};

/// Balancing by the timer, in nanoseconds: at every tick when idle, else every quarter of a second.
pub(super) const IDLE_INTERVAL: u64 = 1_000_000;
pub(super) const BUSY_INTERVAL: u64 = 250_000_000;

/// The queues of Linux 2.5, one for each logical CPU.
#[derive(Debug)]
struct Flat {
    arrays: Arrays,
    random: ChaCha8Rng,
}

impl Flat {
    fn new(topology: &Topology, seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { arrays: Arrays::new(topology.cpus.len()), random }
    }

    /// Tasks of a CPU, the running one included.
    fn tasks(&self, state: &State, cpu: usize) -> usize {
        self.arrays.len(cpu) + usize::from(state.running(cpu).is_some())
    }

    /// The CPU with the fewest tasks; any of equals.
    fn least_loaded(&mut self, state: &State, task: TaskId) -> usize {
        let count = state.topology().cpus.len();
        let first = self.random.random_range(0..count);
        let around = super::around(state, first);
        least(state, task, around, |cpu| self.tasks(state, cpu)).unwrap_or(0)
    }
}

impl ArrayPolicy for Flat {
    fn arrays(&mut self) -> &mut Arrays {
        &mut self.arrays
    }

    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let home = arrival.cpu_before(state, task);
        match home.filter(|&cpu| state.may_run(task, cpu)) {
            Some(cpu) => cpu,
            None => self.least_loaded(state, task),
        }
    }

    /// `load_balance`: from the CPU with most tasks half of the difference, at least a quarter of its
    /// tasks unless this one is idle.
    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        if state.waiting() == 0 {
            return Balanced::Nothing;
        }
        let is_idle = when != Balance::Busy;
        let own = if is_idle { 0 } else { self.tasks(state, cpu) };
        let others = (0..state.topology().cpus.len()).filter(|&other| other != cpu);
        let with_waiting = others.filter(|&other| self.arrays.len(other) > 0);
        let busiest =
            with_waiting.max_by_key(|&other| (self.tasks(state, other), usize::MAX - other));
        let Some(busiest) = busiest else { return Balanced::Nothing };
        let most = self.tasks(state, busiest);
        let imbalance = most.saturating_sub(own) / 2;
        if imbalance == 0 || (!is_idle && imbalance < most.div_ceil(4)) {
            return Balanced::Nothing;
        }
        self.arrays.pull(state, busiest, Puller { cpu, queue: cpu, is_idle }, imbalance)
    }

    fn balance_interval(&self, _state: &State, is_idle: bool) -> Option<u64> {
        Some(if is_idle { IDLE_INTERVAL } else { BUSY_INTERVAL })
    }
}
