//! An ordered index, as databases keep it: the standard library's `BTreeMap` under random requests.
//!
//! Each request walks from the root to a leaf; which child comes next depends on comparisons that
//! cannot be predicted, and loading it on the child before.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use crate::generated::Random;
use crate::{
    Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError, memory,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "btree",
    summary: "random lookups, insertions and removals in an ordered map",
    tags: &[Tag::BranchPrediction, Tag::CacheCapacity, Tag::Allocation],
    parameters: &[ENTRIES],
    operation: "a lookup, insertion or removal",
    counted: "lookups",
    ..Descriptor::PLAIN
};

const ENTRIES: Parameter = Parameter {
    name: "entries",
    summary: "how many entries the map holds, give or take a few",
    default: "100000",
    domain: Domain::Count { unit: "entries", least: 1, most: 10_000_000 },
};

/// On average: nodes have places for 11 entries and are about two thirds full.
const BYTES_OF_AN_ENTRY: u64 = 32;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let entries = parameters.number(&ENTRIES)?;
    let bytes = entries.saturating_mul(BYTES_OF_AN_ENTRY * workers.get() as u64);
    memory::ensure_available(ABOUT.name, bytes)?;
    Ok(Job::of((0..workers.get()).map(|_| BtreeKernel::new(entries))))
}

struct BtreeKernel {
    entries: u64,
    map: BTreeMap<u64, u64>,
    random: Random,
    seen: u64,
}

impl BtreeKernel {
    fn new(entries: u64) -> Self {
        Self { entries, map: BTreeMap::new(), random: Random::new(0), seen: 0 }
    }

    /// There are twice as many keys as entries, so a random key is there in every second case.
    fn key(&mut self) -> u64 {
        self.random.below(2 * self.entries)
    }
}

impl Kernel for BtreeKernel {
    /// Inserts in random order, so that the nodes are as full as they will be later.
    fn reset(&mut self) {
        self.map.clear();
        self.random = Random::new(7);
        self.seen = 0;
        while (self.map.len() as u64) < self.entries {
            let key = self.key();
            self.map.insert(key, !key);
        }
    }

    /// Two lookups to an insertion and a removal.
    fn run(&mut self, operations: u64) {
        for operation in 0..operations {
            let key = self.key();
            let value = match self.random.below(4) {
                0 => self.map.insert(key, operation),
                1 => self.map.remove(&key),
                _ => self.map.get(&key).copied(),
            };
            self.seen = self.seen.wrapping_mul(3).wrapping_add(value.unwrap_or(1));
        }
    }

    /// Depends on all values that were found, replaced or removed, in their order, and on how many
    /// are left.
    fn check(&self) -> u64 {
        self.seen.wrapping_add(self.map.len() as u64)
    }
}
