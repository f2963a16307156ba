//! The array writer of an operating-systems lecture, there given as an example of waiting for RAM.
//!
//! It touches 4 KiB, so every store hits the first-level cache, and what it waits for is its own loop
//! counter in memory. `touched` outgrows any cache; `variant=register` takes the counter away.

use std::num::NonZeroUsize;

use memmap2::MmapMut;

use crate::in_memory::{InMemory, VARIANT};
use crate::{
    Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError, memory,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "ram",
    summary: "writes an array over and over; its 4 KiB stay in the first-level cache",
    tags: &[Tag::StoreForwarding, Tag::StoreThroughput, Tag::CacheCapacity],
    parameters: &[VARIANT, TOUCHED],
    operation: "a stored element",
    counted: "elements",
    ..Descriptor::PLAIN
};

const TOUCHED: Parameter = Parameter {
    name: "touched",
    summary: "how much of its array each worker writes before it starts again",
    default: "4KiB",
    domain: Domain::Size {
        least: 4 << 10,
        most: 8 << 30,
        multiple_of: size_of::<Element>() as u64,
    },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let passes: Passes = match parameters.choice(&VARIANT)? {
        "register" => |array, operations| passes_in_registers(array, operations),
        _ => |array, operations| passes_through_memory(array, operations),
    };
    let touched = parameters.number(&TOUCHED)?;
    memory::ensure_available(ABOUT.name, touched.saturating_mul(workers.get() as u64))?;
    Job::of_each((0..workers.get()).map(|_| {
        let memory = memory::map(ABOUT.name, touched)?;
        Ok(RamKernel { memory, passes, stored: 0 })
    }))
}

/// A 32-bit number of the array; every store to it happens, one by one.
type Element = InMemory<u32>;

/// Stores a number of elements, from the first one on, and says how many its counters have seen.
type Passes = fn(&mut [Element], u64) -> u64;

struct RamKernel {
    memory: MmapMut,
    passes: Passes,
    stored: u64,
}

impl Kernel for RamKernel {
    /// All ones, which no store leaves behind.
    fn reset(&mut self) {
        self.stored = 0;
        self.memory.fill(u8::MAX);
    }

    fn run(&mut self, operations: u64) {
        // SAFETY: any four bytes are a 32-bit number.
        let (_, array, _) = unsafe { self.memory.align_to_mut::<Element>() };
        self.stored = (self.passes)(array, operations);
    }

    /// The sum of all elements plus the number of stores that the loop counters have seen.
    fn check(&self) -> u64 {
        // SAFETY: any four bytes are a 32-bit number.
        let (_, array, _) = unsafe { self.memory.align_to::<Element>() };
        let sum: u64 = array.iter().map(|element| u64::from(element.get())).sum();
        sum.wrapping_add(self.stored)
    }
}

/// While the array fits the first-level cache, bound by store-to-load forwarding of the inner
/// counter: each step loads it as address, as value, to increment and store it, and to compare it.
#[inline(always)]
fn passes_through_memory(array: &mut [Element], operations: u64) -> u64 {
    let (passes, rest) = whole_and_rest(operations, array.len());
    let mut pass = InMemory::new(0);
    while pass.get() < passes {
        through_memory(array);
        pass.set(pass.get() + 1);
    }
    pass.get() * array.len() as u64 + through_memory(&mut array[..rest])
}

/// The nine instructions of a step that a compiler makes of the original without optimisation: what they
/// leave to a sibling depends on all of them.
#[cfg(target_arch = "x86_64")]
fn through_memory(array: &mut [Element]) -> u64 {
    let mut index = InMemory::new(0_u32);
    // As many bytes as may be touched are 2^31 elements, whose numbers have no sign.
    let length = array.len() as u32;
    // SAFETY: it writes elements below `length`, and the counter.
    unsafe {
        std::arch::asm!(
            "jmp 3f",
            "2:",
            "mov eax, dword ptr [{index}]",
            "cdqe",
            "lea rcx, [rax * 4]",
            "lea rdx, [{array}]",
            "mov eax, dword ptr [{index}]",
            "mov dword ptr [rcx + rdx], eax",
            "add dword ptr [{index}], 1",
            "3:",
            "cmp dword ptr [{index}], {length:e}",
            "jb 2b",
            index = in(reg) &raw mut index,
            array = in(reg) array.as_mut_ptr(),
            length = in(reg) length,
            out("rax") _,
            out("rcx") _,
            out("rdx") _,
            options(nostack),
        );
    }
    index.get().into()
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn through_memory(array: &mut [Element]) -> u64 {
    let mut index = InMemory::new(0_usize);
    while let Some(element) = array.get_mut(index.get()) {
        element.set(index.get() as u32);
        index.set(index.get() + 1);
    }
    index.get() as u64
}

/// Bound by how many stores a cycle the core takes. Each element gets a 32-bit store of its own,
/// which the compiler may not merge into vectors; it unrolls the loop to eight stores.
#[inline(always)]
fn passes_in_registers(array: &mut [Element], operations: u64) -> u64 {
    let (passes, rest) = whole_and_rest(operations, array.len());
    let mut stored = 0;
    for _ in 0..passes {
        stored += in_registers(array);
    }
    stored + in_registers(&mut array[..rest])
}

#[inline(always)]
fn in_registers(array: &mut [Element]) -> u64 {
    let mut index = 0_u32;
    for element in array {
        element.set(index);
        index += 1;
    }
    index.into()
}

/// Number of times that `operations` stores fill the array, and of the elements that remain.
fn whole_and_rest(operations: u64, length: usize) -> (u64, usize) {
    let length = length as u64;
    (operations / length, (operations % length) as usize)
}
