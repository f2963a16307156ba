//! Nothing but register work, so that only the scheduler decides how far a copy gets: an
//! operating-systems lecture runs five such copies on four CPUs and compares the share of each.

use std::num::NonZeroUsize;

use crate::in_memory::opaque;
use crate::{DefaultPlacement, Descriptor, Job, Kernel, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "fairness",
    summary: "a chain of register operations, to see how the scheduler shares the CPUs",
    tags: &[Tag::Scheduling, Tag::IntegerLatency],
    operation: "a step",
    counted: "steps",
    default_placement: DefaultPlacement::Crowd,
    ..Descriptor::PLAIN
};

/// A full-period generator modulo 2^64 (Knuth, The Art of Computer Programming, volume 2, 3.3.4).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| FairnessKernel { state: 0 })))
}

struct FairnessKernel {
    state: u64,
}

impl Kernel for FairnessKernel {
    fn reset(&mut self) {
        self.state = 0;
    }

    /// Bound by the latency of a multiplication and an addition. `opaque` keeps the optimiser from
    /// taking several steps at once.
    fn run(&mut self, operations: u64) {
        let mut state = self.state;
        for _ in 0..operations {
            state = opaque(state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT));
        }
        self.state = state;
    }

    /// The last state of the generator.
    fn check(&self) -> u64 {
        self.state
    }
}
