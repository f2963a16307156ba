//! Fibonacci numbers modulo 2^64 by repeated addition: what the published SMT test "smt_test" does.
//!
//! Records of 32 bytes, packed or spaced apart in one block, also show what false sharing costs. The
//! loop's bounds and results lie in memory by default because the published build did not optimise.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapMut;

use crate::in_memory::{InMemory, VARIANT, opaque};
use crate::{
    Choice, Descriptor, Domain, Job, Kernel, LineSharing, Mode, Parameter, Parameters, Tag,
    Workload, WorkloadError, memory,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "fib",
    summary: "Fibonacci numbers modulo 2^64: a chain of dependent additions",
    tags: &[Tag::StoreForwarding, Tag::IntegerLatency, Tag::Coherence],
    parameters: &[VARIANT, CALL, GRANULARITY],
    operation: "an addition",
    counted: "additions",
    default_mode: Mode::Workers,
    line_sharing: Some(LineSharing { parameter: GRANULARITY.name, shared: "32", own: "128" }),
    ..Descriptor::PLAIN
};

const CALL: Parameter = Parameter {
    name: "call",
    summary: "how the loop reaches its step",
    default: "inline",
    domain: Domain::Choice(&[
        Choice { value: "inline", summary: "the step is part of the loop" },
        Choice { value: "call", summary: "the step is a function that is called every time" },
    ]),
};

/// The default keeps workers apart even where a prefetcher fetches lines of 64 bytes in pairs.
const GRANULARITY: Parameter = Parameter {
    name: "granularity",
    summary: "distance between the records of two workers; below a cache line they share one",
    default: "128",
    domain: Domain::Size {
        least: size_of::<Record>() as u64,
        most: 1 << 30,
        multiple_of: align_of::<Record>() as u64,
    },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let steps: Steps = match (parameters.choice(&VARIANT)?, parameters.choice(&CALL)?) {
        ("register", "call") => |results, n| in_registers(results, n, add_called),
        ("register", _) => |results, n| in_registers(results, n, add),
        (_, "call") => |results, n| through_memory(results, n, step_called),
        _ => unoptimised,
    };
    let records = records(parameters.number(&GRANULARITY)?, workers)?;
    let kernel = |record| FibKernel { record, steps, operations: 0 };
    Ok(Job::of(records.into_iter().map(kernel)))
}

/// Record of each worker: 32 bytes. The identity (the published program keeps the thread's id and
/// number there) is not read while the loop runs; it decides where in its line the results lie.
#[repr(C)]
struct Record {
    identity: [u64; 2],
    results: Results,
}

type Results = [InMemory<u64>; 2];

/// Does a number of steps on one record's results.
type Steps = fn(&mut Results, u64);

struct FibKernel {
    record: OwnRecord,
    steps: Steps,
    operations: u64,
}

impl Kernel for FibKernel {
    fn reset(&mut self) {
        self.operations = 0;
        for result in &mut self.record.get_mut().results {
            result.set(1);
        }
    }

    fn run(&mut self, operations: u64) {
        self.operations = operations;
        (self.steps)(&mut self.record.get_mut().results, operations);
    }

    /// The newest result: Fibonacci number `operations` + 2, modulo 2^64.
    fn check(&self) -> u64 {
        let newest = if self.operations.is_multiple_of(2) { 1 } else { 0 };
        self.record.get().results[newest].get()
    }
}

/// The loop of the published program as gcc compiles it without optimisation, instruction by instruction: what two of
/// them yield on a core hangs on which loads it repeats, and so would differ with each compiler.
#[cfg(target_arch = "x86_64")]
fn unoptimised(results: &mut Results, operations: u64) {
    /// Stack frame of the published loop: the counter, and the address of its record.
    #[repr(C)]
    struct Frame {
        record: *mut u64,
        index: u64,
    }
    // The results are the third and the fourth word of a record.
    let record = std::ptr::from_mut(results).cast::<u64>().wrapping_sub(2);
    let mut frame = Frame { record, index: 2 };
    let last = operations + 1;
    // SAFETY: the loop reads the frame and `last`, and reads and writes the two results alone, which are borrowed
    // exclusively; it uses no stack.
    unsafe {
        std::arch::asm!(
            "jmp 3f",
            // Always at the same place in its line of code.
            ".p2align 6",
            "2:",
            "mov rax, [{frame}]",
            "mov rdx, [rax + 16]",
            "mov rax, [{frame}]",
            "mov rax, [rax + 24]",
            "mov rcx, [{frame} + 8]",
            "mov rsi, rcx",
            "and esi, 1",
            "lea rcx, [rdx + rax]",
            "mov rax, [{frame}]",
            "lea rdx, [rsi + 2]",
            "mov [rax + 8 * rdx], rcx",
            "add qword ptr [{frame} + 8], 1",
            "3:",
            "mov rax, [{last}]",
            "cmp rax, [{frame} + 8]",
            "jae 2b",
            frame = in(reg) &raw mut frame,
            last = in(reg) &raw const last,
            out("rax") _,
            out("rcx") _,
            out("rdx") _,
            out("rsi") _,
            options(nostack)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn unoptimised(results: &mut Results, operations: u64) {
    through_memory(results, operations, step);
}

/// Bound by store-to-load forwarding: each addition loads the result that the step before stored.
/// Beside it run loads of everything else that an unoptimised build keeps in memory: where the results
/// lie (each time), the counter and its bound, and a load-add-store of the counter.
#[inline(always)]
fn through_memory(results: &mut Results, operations: u64, step: impl Fn(&mut Place, u64)) {
    let mut place = Place(InMemory::new(NonNull::from(results)));
    let last = InMemory::new(operations + 1);
    let mut index = InMemory::new(2);
    while index.get() <= last.get() {
        step(&mut place, index.get());
        index.set(index.get() + 1);
    }
}

/// A pointer to the results of one record, itself in memory; it lives as long as their borrow.
struct Place(InMemory<NonNull<Results>>);

impl Place {
    #[inline(always)]
    fn result(&self, index: usize) -> u64 {
        // SAFETY: `through_memory` borrows the results exclusively while there is a place.
        let results = unsafe { self.0.get().as_ref() };
        results[index].get()
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: u64) {
        // SAFETY: as in `result`.
        let results = unsafe { self.0.get().as_mut() };
        results[index].set(value);
    }
}

#[inline(always)]
fn step(place: &mut Place, index: u64) {
    let sum = place.result(0).wrapping_add(place.result(1));
    place.set((index % 2) as usize, sum);
}

#[inline(never)]
fn step_called(place: &mut Place, index: u64) {
    step(place, index);
}

/// Bound by the latency of one addition. `add` hides its sum from the optimiser, which would be
/// free to find a shorter way to the last number otherwise.
#[inline(always)]
fn in_registers(results: &mut Results, operations: u64, add: impl Fn(u64, u64) -> u64) {
    let (mut even, mut odd) = (results[0].get(), results[1].get());
    for _ in 0..operations / 2 {
        even = add(even, odd);
        odd = add(odd, even);
    }
    if !operations.is_multiple_of(2) {
        even = add(even, odd);
    }
    results[0].set(even);
    results[1].set(odd);
}

#[inline(always)]
fn add(a: u64, b: u64) -> u64 {
    opaque(a.wrapping_add(b))
}

#[inline(never)]
fn add_called(a: u64, b: u64) -> u64 {
    add(a, b)
}

/// A record in the block that all workers share, owned by one of them.
struct OwnRecord {
    record: NonNull<Record>,
    _block: Arc<MmapMut>,
}

// SAFETY: `records` hands out each record once, so only its owner ever refers to it.
unsafe impl Send for OwnRecord {}

impl OwnRecord {
    fn get(&self) -> &Record {
        // SAFETY: the record lies inside the block, which lives as long, and has this owner only.
        unsafe { self.record.as_ref() }
    }

    fn get_mut(&mut self) -> &mut Record {
        // SAFETY: as in `get`.
        unsafe { self.record.as_mut() }
    }
}

/// One record for each worker, `granularity` bytes apart from the start of a page, in one block.
fn records(granularity: u64, workers: NonZeroUsize) -> Result<Vec<OwnRecord>, WorkloadError> {
    let bytes = granularity.saturating_mul(workers.get() as u64);
    let mut block = memory::map_sparsely(ABOUT.name, bytes)?;
    let starts: Vec<NonNull<Record>> = block
        .chunks_exact_mut(granularity as usize)
        .map(|chunk| NonNull::from(chunk).cast())
        .collect();
    let block = Arc::new(block);
    Ok(starts.into_iter().map(|record| OwnRecord { record, _block: Arc::clone(&block) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_loop_adds_what_the_portable_one_adds() {
        for operations in [0, 1, 2, 7, 100] {
            let mut both = [[InMemory::new(1), InMemory::new(1)]; 2];
            let [published, portable] = &mut both;
            unoptimised(published, operations);
            through_memory(portable, operations, step);
            assert_eq!(both[0].map(|it| it.get()), both[1].map(|it| it.get()), "{operations}");
        }
    }

    /// Below the line size this is what makes the sharing real: one block, from a page's start.
    #[test]
    fn records_lie_as_far_apart_as_asked_from_the_start_of_a_page() {
        for granularity in [32, 40, 128, 4096] {
            let records = records(granularity, NonZeroUsize::new(3).unwrap()).unwrap();
            let starts: Vec<u64> =
                records.iter().map(|record| record.record.addr().get() as u64).collect();
            assert_eq!(starts[0] % 4096, 0);
            let distances: Vec<u64> = starts.iter().map(|start| start - starts[0]).collect();
            assert_eq!(distances, [0, granularity, 2 * granularity]);
        }
    }
}
