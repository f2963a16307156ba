//! Sorting numbers: the standard library's `sort_unstable` on random 64-bit numbers.
//!
//! Comparisons whose outcome cannot be predicted, done mostly without branches, on an array that
//! stays in a cache. An array that is sorted is no more work, so each pass starts from a copy of
//! the numbers in their first order; the copy belongs to the work.

use std::num::NonZeroUsize;

use crate::checksum::checksum;
use crate::generated::Random;
use crate::memory::{Memory, Pages, map_each};
use crate::{Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "sort",
    summary: "sorts random 64-bit numbers, copied in their first order for each pass",
    tags: &[Tag::IntegerThroughput, Tag::BranchPrediction, Tag::CacheCapacity],
    parameters: &[SIZE],
    operation: "an element sorted",
    counted: "elements",
    ..Descriptor::PLAIN
};

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "the array that each pass sorts; the numbers in their first order take as much",
    default: "512KiB",
    domain: Domain::Size { least: 64, most: 8 << 30, multiple_of: size_of::<u64>() as u64 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let size = parameters.number(&SIZE)?;
    let memories = map_each(ABOUT.name, workers, 2 * size, Pages::Huge)?;
    let kernel = |numbers| SortKernel { numbers, sorted: 0 };
    Ok(Job::of(memories.into_iter().map(kernel)))
}

/// The numbers in their first order, then the array.
struct SortKernel {
    numbers: Memory,
    sorted: u64,
}

impl SortKernel {
    fn shuffled_and_array(&mut self) -> (&mut [u64], &mut [u64]) {
        // SAFETY: any eight bytes are a 64-bit number.
        let numbers = unsafe { self.numbers.align_to_mut().1 };
        numbers.split_at_mut(numbers.len() / 2)
    }
}

impl Kernel for SortKernel {
    fn reset(&mut self) {
        let mut random = Random::new(6);
        let (shuffled, array) = self.shuffled_and_array();
        shuffled.fill_with(|| random.any());
        array.fill(0);
        self.sorted = 0;
    }

    /// The last pass sorts as many of the first elements as are left, so it costs less an element.
    fn run(&mut self, operations: u64) {
        let (shuffled, array) = self.shuffled_and_array();
        let mut left = operations;
        while left > 0 {
            let length = left.min(array.len() as u64) as usize;
            let array = &mut array[..length];
            array.copy_from_slice(&shuffled[..length]);
            array.sort_unstable();
            left -= length as u64;
        }
        self.sorted = operations;
    }

    /// The whole array, and how many elements have been sorted.
    fn check(&self) -> u64 {
        // SAFETY: any eight bytes are a 64-bit number.
        let numbers: &[u64] = unsafe { self.numbers.align_to().1 };
        let array = &numbers[numbers.len() / 2..];
        checksum(array.iter().copied()).wrapping_add(self.sorted)
    }
}
