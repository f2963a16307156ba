//! Locks without contention, and yet cost: two of them in one cache line, or in the pair of
//! lines that some prefetchers fetch together. Kernels align their locks to 128 bytes for this.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::places::{Place, WORD, places};
use crate::{
    Descriptor, Domain, Job, Kernel, LineSharing, Mode, Parameter, Parameters, Tag, Workload,
    WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "lockline",
    summary: "each worker takes and releases a lock of its own, near its neighbour's",
    tags: &[Tag::Locking, Tag::Coherence],
    parameters: &[DISTANCE],
    operation: "a lock acquisition",
    counted: "locks",
    default_mode: Mode::Workers,
    line_sharing: Some(LineSharing { parameter: DISTANCE.name, shared: "8", own: "128" }),
    ..Descriptor::PLAIN
};

/// At 64 two workers have a line each of a pair of 128 bytes, which the spatial prefetcher of Intel
/// cores completes in the second-level cache (Intel, 64 and IA-32 Architectures Optimization
/// Reference Manual, "Data Prefetching").
const DISTANCE: Parameter = Parameter {
    name: "distance",
    summary: "bytes from one worker's lock to the next; below a cache line they share one",
    default: "128",
    domain: Domain::Size { least: BYTES, most: 4096, multiple_of: BYTES },
};

/// Words of a lock and of the data that it protects, which follow it in the same line.
const LOCK_AND_DATA: usize = 2;
const BYTES: u64 = LOCK_AND_DATA as u64 * WORD;
const FREE: u32 = 0;
const TAKEN: u32 = 1;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let places = places(ABOUT.name, parameters.number(&DISTANCE)?, LOCK_AND_DATA, workers)?;
    Ok(Job::of(places.into_iter().map(|place| LockLineKernel { place })))
}

struct LockLineKernel {
    place: Place,
}

impl LockLineKernel {
    fn lock(&self) -> &AtomicU32 {
        &self.place.words()[0]
    }

    fn protected(&self) -> &AtomicU32 {
        &self.place.words()[1]
    }
}

impl Kernel for LockLineKernel {
    fn reset(&mut self) {
        self.lock().store(FREE, Relaxed);
        self.protected().store(0, Relaxed);
    }

    /// Bound by the atomic exchange while the line stays in the worker's first-level cache; what is
    /// protected is loaded, incremented and stored.
    fn run(&mut self, operations: u64) {
        let (lock, protected) = (self.lock(), self.protected());
        for _ in 0..operations {
            while lock.swap(TAKEN, Acquire) != FREE {
                std::hint::spin_loop();
            }
            protected.store(protected.load(Relaxed).wrapping_add(1), Relaxed);
            lock.store(FREE, Release);
        }
    }

    /// Number of times that the lock was held, modulo 2^32.
    fn check(&self) -> u64 {
        self.protected().load(Relaxed).into()
    }
}
