//! The latency of memory: a chain of loads, each of which gives the address of the next.
//!
//! As in lmbench's lat_mem_rd (McVoy and Staelin 1996), but in random order by default, so that no
//! prefetcher knows the next address; in sequential order it shows what prefetchers win.

use std::num::NonZeroUsize;

use crate::cycle::{self, Layout, Order};
use crate::memory::{PAGES, Pages};
use crate::{
    Choice, DefaultPlacement, Descriptor, Domain, Job, Parameter, Parameters, Tag, Workload,
    WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "chase",
    summary: "follows pointers through memory: each load waits for the one before",
    tags: &[Tag::MemoryLatency, Tag::CacheCapacity, Tag::Tlb],
    parameters: &[SIZE, STRIDE, ORDER, PAGES],
    operation: "a load",
    counted: "loads",
    default_placement: DefaultPlacement::Alone,
    ..Descriptor::PLAIN
};

/// The most is what 2^32 pointers at the smallest stride take.
const SIZE: Parameter = Parameter {
    name: "size",
    summary: "how much memory the pointers of each worker are spread over",
    default: "8xL3",
    domain: Domain::Size { least: 1 << 10, most: 32 << 30, multiple_of: 64 },
};

const STRIDE: Parameter = Parameter {
    name: "stride",
    summary: "distance between neighbouring pointers; below a cache line they share one",
    default: "64",
    domain: Domain::Size { least: 8, most: 16 << 20, multiple_of: 8 },
};

const ORDER: Parameter = Parameter {
    name: "order",
    summary: "the order in which the pointers are visited",
    default: "random",
    domain: Domain::Choice(&[
        Choice { value: "random", summary: "one random cycle through all, always the same" },
        Choice { value: "sequential", summary: "from the lowest address to the highest" },
    ]),
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let stride = parameters.number(&STRIDE)?;
    let order = match parameters.choice(&ORDER)? {
        "sequential" => Order::Sequential,
        _ => Order::Random,
    };
    let length = (parameters.number(&SIZE)? / stride).max(1);
    let layout = Layout { length, stride, skew: 0, order, overlapping: false };
    cycle::kernels(ABOUT.name, workers, layout, Pages::of(parameters, &PAGES)?)
}
