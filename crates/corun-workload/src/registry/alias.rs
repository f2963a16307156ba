//! Addresses that differ and yet are taken for the same, because a core compares a part of them:
//! a load then waits for a store that it does not need, or a line drives another out of the cache.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::places::{Place, WORD, places};
use crate::{
    Descriptor, Domain, Job, Kernel, Mode, Parameter, Parameters, Tag, Workload, WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "alias",
    summary: "loads a word after storing one at an address with the same lowest bits",
    tags: &[Tag::Aliasing, Tag::StoreForwarding],
    parameters: &[OFFSET, APART],
    operation: "a load-store pair",
    counted: "pairs",
    default_mode: Mode::Workers,
    ..Descriptor::PLAIN
};

/// At a multiple of 4096 the lowest 12 bits are equal. Pentium M, Core Solo and Core Duo stall such
/// a load until the store retires (Intel, IA-32 Optimization Reference Manual, "Aliasing Cases");
/// later Intel cores issue it again, which costs a few cycles (Intel, VTune, "4K Aliasing"). Athlon
/// 64 and Opteron match a load with the most recent store by bits 11 to 2 (AMD, 25112, section 5.5).
const OFFSET: Parameter = Parameter {
    name: "offset",
    summary: "bytes from the stored to the loaded word; 4096 aliases, 4160 does not",
    default: "4096",
    domain: Domain::Size { least: WORD, most: 32 << 10, multiple_of: WORD },
};

/// The first-level cache of a Pentium 4 holds one line of those with equal bits 15 to 6 (models 0
/// to 2) or 21 to 6 (model 3); threads are asked to keep clear of it under Hyper-Threading (IA-32
/// Optimization Reference Manual, "Eliminate 64-KByte Aliased Data Accesses"), and kernels of that
/// time offset user stacks. At least so much that no worker stores where another loads.
const APART: Parameter = Parameter {
    name: "apart",
    summary: "bytes from one worker's words to the next; 64 KiB aliases on a Pentium 4",
    default: "64KiB",
    domain: Domain::Size { least: 64 << 10, most: 1 << 30, multiple_of: 64 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let loaded = (parameters.number(&OFFSET)? / WORD) as usize;
    let places = places(ABOUT.name, parameters.number(&APART)?, loaded + 1, workers)?;
    Ok(Job::of(places.into_iter().map(|place| AliasKernel { place, loaded })))
}

struct AliasKernel {
    place: Place,
    /// Which word is loaded; the first one is stored.
    loaded: usize,
}

impl AliasKernel {
    fn stored(&self) -> &AtomicU32 {
        &self.place.words()[0]
    }

    fn loaded(&self) -> &AtomicU32 {
        &self.place.words()[self.loaded]
    }
}

impl Kernel for AliasKernel {
    /// The loaded word says which word to load next: itself.
    fn reset(&mut self) {
        self.stored().store(0, Relaxed);
        self.loaded().store(self.loaded as u32, Relaxed);
    }

    /// Loads what to load next, adds it, stores the sum: bound by the latency of a load from the
    /// first-level cache. No load needs what a store wrote; one that waits for a store nevertheless
    /// makes all later ones wait, where a core would hide it among independent loads.
    fn run(&mut self, operations: u64) {
        let (words, stored) = (self.place.words(), self.stored());
        let (mut next, mut sum) = (self.loaded, 0_u32);
        for _ in 0..operations {
            let loaded = words[next].load(Relaxed);
            sum = sum.wrapping_add(loaded);
            stored.store(sum, Relaxed);
            next = loaded as usize;
        }
    }

    /// The sum that was stored last, modulo 2^32.
    fn check(&self) -> u64 {
        self.stored().load(Relaxed).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results are right at any distance; only the addresses make the point.
    #[test]
    fn words_lie_as_far_apart_as_asked() {
        let place = places("test", 65_536, 8193, NonZeroUsize::MIN).unwrap().remove(0);
        let mut kernel = AliasKernel { place, loaded: 0 };
        for offset in [4, 4096, 4160, 32_768] {
            kernel.loaded = offset / 4;
            let [stored, loaded] = [kernel.stored(), kernel.loaded()].map(AtomicU32::as_ptr);
            assert_eq!(loaded.addr() - stored.addr(), offset);
        }
    }
}
