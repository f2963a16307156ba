//! Memory blocks of mixed sizes, allocated and released in random order, as long-running programs
//! do it.
//!
//! The allocator is the one that Rust programs get unless they bring one along: the C library's.
//! Among worker threads of one process it also shows what they pay for sharing it.

use std::num::NonZeroUsize;

use crate::generated::Random;
use crate::{
    Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError, memory,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "alloc",
    summary: "releases a random block and allocates one of 16 bytes to 4 KiB instead",
    tags: &[Tag::Allocation, Tag::CacheCapacity, Tag::BranchPrediction],
    parameters: &[LIVE],
    operation: "an allocation",
    counted: "allocations",
    ..Descriptor::PLAIN
};

const LIVE: Parameter = Parameter {
    name: "live",
    summary: "how many blocks are allocated at any time",
    default: "10000",
    domain: Domain::Count { unit: "blocks", least: 1, most: 1_000_000 },
};

/// On average, with what the allocator adds.
const BYTES_OF_A_BLOCK: u64 = 800;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let live = parameters.number(&LIVE)?;
    let bytes = live.saturating_mul(BYTES_OF_A_BLOCK * workers.get() as u64);
    memory::ensure_available(ABOUT.name, bytes)?;
    Ok(Job::of((0..workers.get()).map(|_| AllocKernel::new(live))))
}

struct AllocKernel {
    live: u64,
    blocks: Vec<Vec<u8>>,
    random: Random,
    released: u64,
}

impl AllocKernel {
    fn new(live: u64) -> Self {
        Self { live, blocks: Vec::new(), random: Random::new(0), released: 0 }
    }

    /// A block of 16 to 4095 bytes, small ones as much more frequent as they are smaller; its first
    /// bytes hold a random number.
    fn block(&mut self) -> Vec<u8> {
        let least = 16 << self.random.below(8);
        let bytes = least + self.random.below(least);
        let mut block = Vec::with_capacity(bytes as usize);
        block.extend_from_slice(&self.random.any().to_le_bytes());
        block
    }
}

impl Kernel for AllocKernel {
    fn reset(&mut self) {
        self.blocks.clear();
        self.random = Random::new(8);
        self.released = 0;
        for _ in 0..self.live {
            let block = self.block();
            self.blocks.push(block);
        }
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            let place = self.random.below(self.live) as usize;
            self.released = self.released.wrapping_mul(3).wrapping_add(number(&self.blocks[place]));
            self.blocks[place] = Vec::new();
            self.blocks[place] = self.block();
        }
    }

    /// Depends on the numbers in all blocks, those released before in their order.
    fn check(&self) -> u64 {
        self.blocks.iter().fold(self.released, |sum, block| sum.wrapping_add(number(block)))
    }
}

/// The number that a block starts with.
fn number(block: &[u8]) -> u64 {
    block.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
