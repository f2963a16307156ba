//! More pages than the TLB holds, one cache line of each: the caches hold the data, so what costs
//! time is the walk through the page table.
//!
//! The lines lie at different places of their pages, since lines at the same place of all pages would
//! share a few sets of the caches. `pages=huge` is the control: the same lines, with few translations.

use std::num::NonZeroUsize;

use crate::cycle::{self, Layout, Order};
use crate::memory::{PAGES, Pages};
use crate::{Choice, Descriptor, Domain, Job, Parameter, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "tlb",
    summary: "loads from more pages than the TLB translates, of lines that caches hold",
    tags: &[Tag::Tlb, Tag::MemoryLatency, Tag::MemoryParallelism],
    parameters: &[PAGES_TOUCHED, LOADS, SMALL_PAGES],
    operation: "a page touched",
    counted: "pages",
    ..Descriptor::PLAIN
};

/// The default exceeds the second-level TLBs of 1024 to 4096 entries that cores have, and its lines
/// take 512 KiB.
const PAGES_TOUCHED: Parameter = Parameter {
    name: "pages_touched",
    summary: "how many pages each worker touches before it starts again",
    default: "8192",
    domain: Domain::Count { unit: "pages", least: 1, most: 1 << 20 },
};

const LOADS: Parameter = Parameter {
    name: "loads",
    summary: "whether a load waits for the one before",
    default: "dependent",
    domain: Domain::Choice(&[
        Choice { value: "dependent", summary: "each gives the address of the next" },
        Choice { value: "independent", summary: "eight such chains at once, so walks overlap" },
    ]),
};

const SMALL_PAGES: Parameter = Parameter { default: "small", ..PAGES };

const CACHE_LINE: u64 = 64;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let layout = Layout {
        length: parameters.number(&PAGES_TOUCHED)?,
        stride: rustix::param::page_size() as u64,
        skew: CACHE_LINE,
        order: Order::Random,
        overlapping: parameters.choice(&LOADS)? == "independent",
    };
    cycle::kernels(ABOUT.name, workers, layout, Pages::of(parameters, &SMALL_PAGES)?)
}
