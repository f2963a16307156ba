//! Addresses that differ and yet are taken for the same, because a core compares a part of them:
//! a load then waits for a store that it does not need, or a line drives another out of the cache.
//!
//! What the manuals say. Pentium M and Intel Core: a load stalls until an earlier store retires
//! whose address differs by a multiple of 4 KiB; later Intel cores issue the load again, which
//! costs a few cycles (Intel VTune, "4K Aliasing"). Athlon 64 and Opteron: a load matches the most
//! recent store by address bits 11 to 2 (AMD 25112, section 5.5). Pentium 4, models 0 to 2: the
//! first-level cache holds one line of those with equal bits 15 to 6, from model 3 on bits 21 to 6,
//! whichever sibling uses it; kernels of its time offset user stacks for that reason (IA-32
//! Optimization Reference Manual, "Aliasing Cases" and "Eliminate 64-KByte Aliased Data Accesses").

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::places::{Place, places};
use crate::{
    About, Domain, Job, Kernel, Mode, Parameter, Parameters, Tag, Usual, Workload, WorkloadError,
};

pub(super) struct Alias;

static ABOUT: About = About {
    name: "alias",
    summary: "loads a word after storing one at an address with the same lowest bits",
    tags: &[Tag::Aliasing, Tag::StoreThroughput],
    parameters: &[OFFSET, APART],
    operation: "a load and a store",
    default_mode: Mode::Workers,
    usual: Usual::Siblings,
    line_sharing: None,
};

const OFFSET: Parameter = Parameter {
    name: "offset",
    summary: "bytes from the stored to the loaded word; 4096 aliases, 4160 does not",
    default: "4096",
    domain: Domain::Size { least: WORD, most: 32 << 10, multiple_of: WORD },
};

/// At least so much that no worker stores where another loads, whatever the offset.
const APART: Parameter = Parameter {
    name: "apart",
    summary: "bytes from one worker's words to the next; 64 KiB aliases on a Pentium 4",
    default: "64KiB",
    domain: Domain::Size { least: 64 << 10, most: 1 << 30, multiple_of: 64 },
};

const WORD: u64 = size_of::<u32>() as u64;

/// What is loaded; odd, so that every number of additions below 2^32 gives another sum.
const TERM: u32 = 0x9e37_79b9;

impl Workload for Alias {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(
        &self,
        parameters: &Parameters,
        workers: NonZeroUsize,
    ) -> Result<Job, WorkloadError> {
        let offset = parameters.number(&OFFSET)?;
        let places = places(ABOUT.name, parameters.number(&APART)?, offset + WORD, workers)?;
        let kernel =
            |place| Box::new(AliasKernel { place, offset: offset as usize }) as Box<dyn Kernel>;
        Ok(Job::Kernels(places.into_iter().map(kernel).collect()))
    }
}

struct AliasKernel {
    place: Place,
    offset: usize,
}

impl AliasKernel {
    fn stored(&self) -> &AtomicU32 {
        self.place.word(0)
    }

    fn loaded(&self) -> &AtomicU32 {
        self.place.word(self.offset)
    }
}

impl Kernel for AliasKernel {
    fn reset(&mut self) {
        self.stored().store(0, Relaxed);
        self.loaded().store(TERM, Relaxed);
    }

    /// Loads the term, adds it, stores the sum. No load depends on a store, so that a core which
    /// knows it is bound by its stores or its loop; a core which believes otherwise waits for the
    /// store, whose sum waits for the load before: the false dependencies become a chain.
    fn run(&mut self, operations: u64) {
        let (stored, loaded) = (self.stored(), self.loaded());
        let mut sum = 0_u32;
        for _ in 0..operations {
            sum = sum.wrapping_add(loaded.load(Relaxed));
            stored.store(sum, Relaxed);
        }
    }

    /// The sum that was stored last, modulo 2^32.
    fn check(&self) -> u64 {
        self.stored().load(Relaxed).into()
    }
}
