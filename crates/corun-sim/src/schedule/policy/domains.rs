//! Where balancing looks for waiting tasks: behind the CPU's own last-level cache, then behind the one
//! that has most of them.
//!
//! A busy CPU looks beyond its cache only if it is the first behind it, as one CPU of a group does in the
//! kernel (`should_we_balance`).

use super::Balance;
use crate::schedule::engine::State;
use crate::schedule::topology::Topology;

/// Waiting tasks behind each last-level cache.
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

    /// Tasks that wait behind a cache.
    pub(super) fn behind(&self, cache: usize) -> usize {
        self.0[cache]
    }

    /// The caches behind which a CPU looks for waiting tasks, one after the other.
    pub(super) fn looked_behind(
        &self,
        state: &State,
        cpu: usize,
        when: Balance,
    ) -> [Option<usize>; 2] {
        let topology = state.topology();
        let own = topology.cpus[cpu].cache;
        let looks_further = when != Balance::Busy || topology.caches[own][0] == cpu;
        let others = (0..self.0.len()).filter(|&cache| cache != own && self.0[cache] > 0);
        let per_cpu =
            |&cache: &usize| self.0[cache] * topology.cpus.len() / topology.caches[cache].len();
        [
            (self.0[own] > 0).then_some(own),
            if looks_further { others.max_by_key(per_cpu) } else { None },
        ]
    }
}
