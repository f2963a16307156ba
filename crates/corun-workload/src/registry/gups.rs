//! Random updates of a table, as in RandomAccess of the HPC Challenge benchmark (Luszczek et al.,
//! Introduction to the HPC Challenge Benchmark Suite, 2005): xor of pseudo-random numbers into places
//! that they themselves name.
//!
//! No update waits for another, so the core keeps as many misses under way as it can.

use std::num::NonZeroUsize;

use crate::memory::{Memory, PAGES, Pages, map_each};
use crate::{
    DefaultPlacement, Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload,
    WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "gups",
    summary: "updates random places of a large table, many at a time",
    tags: &[Tag::MemoryParallelism, Tag::CacheCapacity, Tag::Tlb],
    parameters: &[SIZE, PAGES],
    operation: "an update",
    counted: "updates",
    default_placement: DefaultPlacement::Alone,
    ..Descriptor::PLAIN
};

/// A power of two, since the place of an update is the low bits of a number.
const SIZE: Parameter = Parameter {
    name: "size",
    summary: "the table of each worker; the power of two at or below it is used",
    default: "4xL3",
    domain: Domain::Size { least: 1 << 10, most: 1 << 40, multiple_of: 8 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let bytes = 1 << parameters.number(&SIZE)?.ilog2();
    let memories = map_each(ABOUT.name, workers, bytes, Pages::of(parameters, &PAGES)?)?;
    let kernel = |memory| GupsKernel { memory, value: FIRST };
    Ok(Job::of(memories.into_iter().map(kernel)))
}

/// The number before the first one of the sequence.
const FIRST: u64 = 1;

struct GupsKernel {
    memory: Memory,
    value: u64,
}

impl Kernel for GupsKernel {
    /// Each element holds its index.
    fn reset(&mut self) {
        self.value = FIRST;
        for (index, element) in (0..).zip(self.table()) {
            *element = index;
        }
    }

    /// Goes on where the run before ended.
    fn run(&mut self, operations: u64) {
        let value = self.value;
        self.value = update(self.table(), value, operations);
    }

    /// The exclusive or of all elements.
    fn check(&self) -> u64 {
        // SAFETY: any eight bytes are a 64-bit number.
        let (_, table, _) = unsafe { self.memory.align_to::<u64>() };
        table.iter().fold(0, |sum, element| sum ^ element)
    }

    fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}

impl GupsKernel {
    fn table(&mut self) -> &mut [u64] {
        // SAFETY: any eight bytes are a 64-bit number.
        unsafe { self.memory.align_to_mut::<u64>() }.1
    }
}

/// Bound by the misses that the core keeps under way; with a table in the first-level cache, by the
/// three dependent instructions that make the next number.
#[inline(never)]
fn update(table: &mut [u64], mut value: u64, updates: u64) -> u64 {
    let mask = table.len() - 1;
    for _ in 0..updates {
        value = next(value);
        table[value as usize & mask] ^= value;
    }
    value
}

/// The next number of the sequence: multiplication by x in the field of polynomials over GF(2)
/// modulo x^64 + x^2 + x + 1.
#[inline(always)]
fn next(value: u64) -> u64 {
    (value << 1) ^ (value.cast_signed() >> 63).cast_unsigned() & 7
}
