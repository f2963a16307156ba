//! Every task stays on one CPU: tasks go around all cores first, then around their siblings, as arms
//! `spread` and `full` pin their workers. A CPU's tasks take turns.

use super::array::{ArrayPolicy, Arrays};
use super::{Arrival, PolicyEntry};
use crate::engine::{State, TaskId};
use crate::topology::Topology;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "pinned",
    summary: "each task stays on a CPU: around the cores first, then around their siblings",
    source: "corun's own arms `spread` and `full`",
    is_without_siblings: false,
    make: |topology, _| Box::new(Pinned::new(topology)),
};

#[derive(Debug)]
struct Pinned {
    arrays: Arrays,
    /// The CPUs in the order in which tasks get them.
    order: Vec<usize>,
    next: usize,
}

impl Pinned {
    fn new(topology: &Topology) -> Self {
        let width = topology.smt_width();
        let of_rank = |rank| topology.cores.iter().filter_map(move |core| core.get(rank));
        let order = (0..width).flat_map(of_rank).copied().collect();
        Self { arrays: Arrays::new(topology.cpus.len()), order, next: 0 }
    }
}

impl ArrayPolicy for Pinned {
    fn arrays(&mut self) -> &mut Arrays {
        &mut self.arrays
    }

    fn place(&mut self, state: &State, task: TaskId, _arrival: Arrival) -> usize {
        if let Some(cpu) = state.task(task).last_cpu {
            return cpu;
        }
        let count = self.order.len();
        let from_next = (0..count).map(|step| (self.next + step) % count);
        let place = from_next.into_iter().find(|&place| state.may_run(task, self.order[place]));
        let place = place.unwrap_or(self.next);
        self.next = (place + 1) % count;
        self.order[place]
    }
}
