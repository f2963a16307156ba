//! Cost of a waiting sibling: one worker works, the others wait for it to end, in one of the ways
//! that kernels and locks wait. PAUSE came into spin loops for the sibling's sake; a waiter that
//! sleeps frees its half of the core.

#[cfg(target_arch = "x86_64")]
mod monitor;
mod wait;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::in_memory::opaque;
use crate::{Descriptor, Job, Kernel, Mode, Parameters, Tag, Workload, WorkloadError};
use wait::{WAIT, Wait};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "spin",
    summary: "one worker does twelve integer operations a step, the others wait for it",
    tags: &[Tag::Waiting, Tag::IntegerThroughput, Tag::SystemCalls],
    parameters: &[WAIT],
    operation: "a step",
    counted: "steps",
    default_mode: Mode::WorkersTotal,
    ..Descriptor::PLAIN
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let wait = Wait::named(parameters.choice(&WAIT)?)
        .map_err(|reason| WorkloadError::Unavailable { workload: ABOUT.name, reason })?;
    let work = Arc::new(Work::default());
    let mut kernels: Vec<Box<dyn Kernel>> =
        vec![Box::new(Worker { work: Arc::clone(&work), wait, run: 0, result: 0 })];
    kernels.extend((1..workers.get()).map(|_| {
        let work = Arc::clone(&work);
        Box::new(Waiter { work, wait, run: 0, result: 0 }) as Box<dyn Kernel>
    }));
    Ok(Job::Kernels(kernels))
}

/// State that all workers share, on lines of its own: nothing else may wake a waiter that watches it.
#[derive(Default)]
#[repr(align(128))]
struct Work {
    /// The number of the last finished run, from 1 on. Runs are numbered so that a waiter is right
    /// that begins long after the work, or long before it.
    finished: AtomicU32,
    /// The result of that run.
    result: AtomicU64,
}

/// The worker that works.
struct Worker {
    work: Arc<Work>,
    wait: Wait,
    run: u32,
    result: u64,
}

impl Kernel for Worker {
    fn reset(&mut self) {
        self.result = 0;
    }

    fn run(&mut self, operations: u64) {
        self.result = twelve_at_a_time(operations);
        self.work.result.store(self.result, Relaxed);
        self.run = self.run.wrapping_add(1);
        self.work.finished.store(self.run, Release);
        self.wait.wake(&self.work.finished);
    }

    /// All twelve values, folded into one.
    fn check(&self) -> u64 {
        self.result
    }
}

/// A worker that waits.
struct Waiter {
    work: Arc<Work>,
    wait: Wait,
    run: u32,
    result: u64,
}

impl Kernel for Waiter {
    fn reset(&mut self) {
        self.result = 0;
    }

    fn run(&mut self, _: u64) {
        self.run = self.run.wrapping_add(1);
        self.wait.until(&self.work.finished, self.run);
        self.result = self.work.result.load(Relaxed);
    }

    /// The result that the worker left behind.
    fn check(&self) -> u64 {
        self.result
    }
}

/// Number that is added and combined; in a register, since some cores fold away the addition of constants.
const TERM: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bound by how many integer operations a cycle the core takes: in each step four additions, four
/// exclusive ors and four rotations, none of which waits for another of its step. `opaque` keeps the
/// optimiser from seeing through them.
fn twelve_at_a_time(steps: u64) -> u64 {
    let term = opaque(TERM);
    let [mut sums, mut masks, mut rings] = [[1_u64, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
    for _ in 0..steps {
        for lane in 0..4 {
            sums[lane] = opaque(sums[lane].wrapping_add(term));
            masks[lane] = opaque(masks[lane] ^ term);
            rings[lane] = opaque(rings[lane].rotate_left(7));
        }
    }
    let values = sums.into_iter().chain(masks).chain(rings);
    values.fold(0, |folded, value| folded.rotate_left(1) ^ value)
}
