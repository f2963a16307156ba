//! Number of tasks that wait at the CPUs of each last-level cache, so that balancing can skip caches where none does.

use crate::engine::State;
use crate::topology::Topology;

/// Waiting tasks of each last-level cache.
#[derive(Debug)]
pub(super) struct Waiting(Vec<usize>);

impl Waiting {
    pub(super) fn new(topology: &Topology) -> Self {
        Self(vec![0; topology.caches.len()])
    }

    /// A task begins to wait at a CPU.
    pub(super) fn begins(&mut self, state: &State, cpu: usize) {
        self.0[state.topology().cpus[cpu].cache] += 1;
    }

    /// A task that waited at a CPU does so no more.
    pub(super) fn ends(&mut self, state: &State, cpu: usize) {
        self.0[state.topology().cpus[cpu].cache] -= 1;
    }

    /// Tasks that wait at the CPUs of a cache.
    pub(super) fn waiting_at(&self, cache: usize) -> usize {
        self.0[cache]
    }

    /// True if a task waits at one of these CPUs, which share one cache or are all there are.
    pub(super) fn among(&self, state: &State, cpus: &[usize]) -> bool {
        let own = state.topology().cpus[cpus[0]].cache;
        match cpus.len() > state.topology().caches[own].len() {
            true => state.waiting() > 0,
            false => self.0[own] > 0,
        }
    }
}
