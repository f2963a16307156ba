//! The sieve of Eratosthenes, cut into segments that fit a cache: short strided stores by the
//! thousand, which is what a sibling that uses half of the same cache gets in the way of.
//!
//! A byte for each odd number; no wheel, and no bits, whose loads would wait for stores.

use std::num::NonZeroUsize;

use crate::memory::{self, Memory, Pages};
use crate::{Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "sieve",
    summary: "counts primes with the sieve of Eratosthenes, segment by segment",
    tags: &[Tag::StoreThroughput, Tag::CacheCapacity],
    parameters: &[LIMIT, SEGMENT],
    operation: "a number sieved",
    counted: "numbers",
    ..Descriptor::PLAIN
};

/// The most keeps the primes to cross out with few against the numbers of a segment.
const LIMIT: Parameter = Parameter {
    name: "limit",
    summary: "sieves the numbers from 0 to below this one, then starts again",
    default: "1e9",
    domain: Domain::Count { unit: "numbers", least: 2, most: 10_000_000_000 },
};

const SEGMENT: Parameter = Parameter {
    name: "segment",
    summary: "memory that is sieved at once; a byte for each odd number",
    default: "32KiB",
    domain: Domain::Size { least: 1 << 10, most: 1 << 30, multiple_of: 1 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let limit = parameters.number(&LIMIT)?;
    let bytes = parameters.number(&SEGMENT)?;
    let segments = memory::map_each(ABOUT.name, workers, bytes, Pages::Huge)?;
    let kernel = |segment| SieveKernel { limit, segment, strides: Vec::new(), primes: 0 };
    Ok(Job::of(segments.into_iter().map(kernel)))
}

struct SieveKernel {
    limit: u64,
    segment: Memory,
    strides: Vec<Stride>,
    primes: u64,
}

/// An odd prime whose multiples are crossed out.
struct Stride {
    prime: usize,
    /// The index in the coming segment of its next odd multiple.
    next: usize,
}

impl Kernel for SieveKernel {
    fn reset(&mut self) {
        self.primes = 0;
        self.segment.fill(0);
        let odd_primes = odd_primes_to(self.limit.isqrt() as usize);
        self.strides = odd_primes.into_iter().map(|prime| Stride { prime, next: 0 }).collect();
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations / self.limit {
            self.primes += primes_below(self.limit, &mut self.segment, &mut self.strides);
        }
        let rest = operations % self.limit;
        self.primes += primes_below(rest, &mut self.segment, &mut self.strides);
    }

    /// Number of primes found, over all passes.
    fn check(&self) -> u64 {
        self.primes
    }
}

/// Counts the primes below `limit`, for which `strides` holds at least the odd ones to its root.
fn primes_below(limit: u64, segment: &mut [u8], strides: &mut [Stride]) -> u64 {
    let mut primes = u64::from(limit > 2);
    let odd_numbers = limit / 2;
    let mut low = 0;
    let mut begun = 0;
    while low < odd_numbers {
        let length = (odd_numbers - low).min(segment.len() as u64);
        let segment = &mut segment[..length as usize];
        segment.fill(1);
        if low == 0 {
            segment[0] = 0;
        }
        // Smaller multiples than a prime's square have smaller divisors.
        let end = low + length;
        while let Some(stride) = strides.get_mut(begun)
            && (stride.prime as u64).pow(2) / 2 < end
        {
            stride.next = ((stride.prime as u64).pow(2) / 2 - low) as usize;
            begun += 1;
        }
        strides[..begun].iter_mut().for_each(|stride| cross_out(segment, stride));
        primes += segment.iter().map(|&is_prime| u64::from(is_prime)).sum::<u64>();
        low = end;
    }
    primes
}

/// As far as the segment is in the first-level cache, bound by one store a cycle or two.
#[inline(always)]
fn cross_out(segment: &mut [u8], stride: &mut Stride) {
    let mut index = stride.next;
    while let Some(number) = segment.get_mut(index) {
        *number = 0;
        index += stride.prime;
    }
    stride.next = index - segment.len();
}

/// The odd primes up to `last`, by a sieve of its own.
fn odd_primes_to(last: usize) -> Vec<usize> {
    let mut is_composite = vec![false; last + 1];
    let mut primes = Vec::new();
    for number in (3..=last).step_by(2) {
        if !is_composite[number] {
            primes.push(number);
            (number * number..=last).step_by(number).for_each(|it| is_composite[it] = true);
        }
    }
    primes
}
