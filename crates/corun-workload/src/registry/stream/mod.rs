//! Bytes a second from and to memory: the four kernels of STREAM (McCalpin, Memory Bandwidth and
//! Machine Balance in Current High Performance Computers, 1995), and reading and writing alone.
//!
//! Bytes are counted STREAM's way, without those that a cache reads before a line is written.
//! Streaming stores avoid these reads, and so are the default where the arrays exceed the caches.

mod loops;
mod vector;
mod widest;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::num::NonZeroUsize;
use std::path::Path;

use loops::{Arrays, Formula, Loop};

use crate::memory::{Memory, PAGES, Pages, map_each};
use crate::{
    Choice, DefaultPlacement, Descriptor, Domain, Job, Kernel, Mode, Parameter, Parameters, Tag,
    Workload, WorkloadError, caches,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "stream",
    summary: "reads and writes long arrays in order, as fast as memory gives and takes",
    tags: &[Tag::MemoryBandwidth, Tag::CacheCapacity, Tag::VectorThroughput],
    parameters: &[KERNEL, SIZE, STORES, PAGES],
    operation: "a byte read or written",
    counted: "bytes",
    default_mode: Mode::Workers,
    default_placement: DefaultPlacement::Alone,
    ..Descriptor::PLAIN
};

const KERNEL: Parameter = Parameter {
    name: "kernel",
    summary: "what is done with each element of the arrays a, b and c; s is 3",
    default: "triad",
    domain: Domain::Choice(&[
        Choice { value: "copy", summary: "a = b: 16 bytes an element" },
        Choice { value: "scale", summary: "a = s b: 16 bytes an element" },
        Choice { value: "add", summary: "a = b + c: 24 bytes an element" },
        Choice { value: "triad", summary: "a = b + s c: 24 bytes an element" },
        Choice { value: "read", summary: "the sum of b: 8 bytes an element" },
        Choice { value: "write", summary: "a = the number of the pass: 8 bytes an element" },
    ]),
};

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "the size of each array of each worker",
    default: "4xL3",
    domain: Domain::Size { least: 1 << 10, most: 1 << 40, multiple_of: 64 },
};

const STORES: Parameter = Parameter {
    name: "stores",
    summary: "how results go to memory",
    default: "auto",
    domain: Domain::Choice(&[
        Choice { value: "auto", summary: "streaming where its arrays exceed the last-level cache" },
        Choice { value: "streaming", summary: "past the caches, where the processor can" },
        Choice { value: "normal", summary: "through the caches" },
    ]),
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let size = parameters.number(&SIZE)?;
    let stores = parameters.choice(&STORES)?;
    let streaming = |arrays: u64| match stores {
        "streaming" => true,
        "normal" => false,
        _ => size.saturating_mul(arrays) > caches::last_level(Path::new("/")),
    };
    let plan = match parameters.choice(&KERNEL)? {
        "copy" => Plan::writing::<loops::Copy>(streaming),
        "scale" => Plan::writing::<loops::Scale>(streaming),
        "add" => Plan::writing::<loops::Add>(streaming),
        "read" => Plan { run: widest::reading(), arrays: 1, writes: false },
        "write" => Plan::writing::<loops::Write>(streaming),
        _ => Plan::writing::<loops::Triad>(streaming),
    };
    let spacing = size.next_multiple_of(SPACING);
    let bytes = spacing.saturating_mul(plan.arrays);
    let memories = map_each(ABOUT.name, workers, bytes, Pages::of(parameters, &PAGES)?)?;
    let kernels = memories.into_iter().map(|memory| {
        let length = size as usize / size_of::<f64>();
        let spacing = spacing as usize / size_of::<f64>();
        StreamKernel { memory, plan, length, spacing, elements: 0, sum: 0.0 }
    });
    Ok(Job::of(kernels))
}

/// Arrays begin at multiples of this many bytes.
const SPACING: u64 = 4 << 10;

/// Plan of a value of the parameter `kernel`.
#[derive(Clone, Copy)]
struct Plan {
    run: Loop,
    /// The arrays it works on, and the bytes of an element in units of one number.
    arrays: u64,
    /// True if the first of them is written to; the others are read.
    writes: bool,
}

impl Plan {
    fn writing<F: Formula>(streaming: impl Fn(u64) -> bool) -> Self {
        let arrays = F::READS as u64 + 1;
        Self { run: widest::writing::<F>(streaming(arrays)), arrays, writes: true }
    }
}

struct StreamKernel {
    /// The arrays, one after the other.
    memory: Memory,
    plan: Plan,
    /// Numbers of an array.
    length: usize,
    /// Numbers from the start of an array to that of the next.
    spacing: usize,
    /// Elements done in the last run.
    elements: u64,
    sum: f64,
}

impl Kernel for StreamKernel {
    /// Fills the arrays: what is written holds zeros; element i of the first array read holds i mod
    /// 512 + 1, that of the second one 2 (i mod 512) + 1.
    fn reset(&mut self) {
        const PERIOD: usize = 512;
        (self.elements, self.sum) = (0, 0.0);
        let (length, writes) = (self.length, self.plan.writes);
        for (index, array) in self.numbers().enumerate() {
            let factor = match (index, writes) {
                (0, true) => 0.0,
                (2, true) => 2.0,
                _ => 1.0,
            };
            let constant = if factor == 0.0 { 0.0 } else { 1.0 };
            let period: [f64; PERIOD] = std::array::from_fn(|i| factor * i as f64 + constant);
            for part in array[..length].chunks_mut(PERIOD) {
                part.copy_from_slice(&period[..part.len()]);
            }
        }
    }

    /// An element that is begun is finished: `operations` are rounded up to whole elements.
    fn run(&mut self, operations: u64) {
        let Plan { run, arrays, writes } = self.plan;
        self.elements = operations.div_ceil(arrays * size_of::<f64>() as u64);
        let start = self.memory.as_mut_ptr().cast::<f64>();
        let first_read = start.wrapping_add(if writes { self.spacing } else { 0 });
        let arrays = Arrays {
            target: start,
            first: first_read,
            second: first_read.wrapping_add(self.spacing),
            length: self.length,
        };
        // SAFETY: `memory` holds as many arrays as `run` uses, each `length` numbers long, on
        // multiples of 64 bytes, and `run` was chosen for this processor.
        self.sum = unsafe { run(&arrays, self.elements) };
    }

    /// The elements done, plus the sum read or, of what was written, the sum over some indices i of
    /// (i + 1) a\[i\]: some 4000 evenly spread, and 64 around the end of the last pass.
    fn check(&self) -> u64 {
        if !self.plan.writes {
            return self.elements.wrapping_add(self.sum as u64);
        }
        // SAFETY: any eight bytes are a 64-bit floating-point number.
        let (_, target, _) = unsafe { self.memory[..self.length * 8].align_to::<f64>() };
        let spread = (0..self.length).step_by((self.length / 4096) | 1);
        let end = (self.elements % self.length as u64) as usize;
        let around = end.saturating_sub(32)..self.length.min(end + 32);
        spread.chain(around).fold(self.elements, |sum, index| {
            sum.wrapping_add((index as u64 + 1).wrapping_mul(target[index] as u64))
        })
    }

    fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}

impl StreamKernel {
    fn numbers(&mut self) -> impl Iterator<Item = &mut [f64]> {
        // SAFETY: any eight bytes are a 64-bit floating-point number.
        unsafe { self.memory.align_to_mut::<f64>() }.1.chunks_mut(self.spacing)
    }
}
