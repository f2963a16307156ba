//! Pointers that lie in memory and form one cycle: each load gives the address of the next one. Both
//! the latency of memory and the reach of the TLB are measured by following them.

use std::num::NonZeroUsize;

use crate::memory::{Memory, Pages, ensure_available, map_each};
use crate::{Job, Kernel, WorkloadError};

/// Cursors that are followed at once where loads are to overlap; they fit the registers.
const TOGETHER: usize = 8;

/// With pages as slots and lines as skew, 2048 pointers lie in as many sets of a cache, since sets are
/// distinguished by the line within a page and by the low bits of the page.
const BEFORE_SKEW: u64 = 32;

/// Layout of the pointers and the order in which they are followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// The number of pointers, from 1 to 2^32.
    pub(crate) length: u64,
    /// Bytes from one pointer's slot to the next one's, a multiple of 8.
    pub(crate) stride: u64,
    /// Bytes by which the pointers lie further into their slots after every [`BEFORE_SKEW`] of them,
    /// around the slots' end; a multiple of 8 that divides `stride`, or 0.
    pub(crate) skew: u64,
    /// The order in which they are visited.
    pub(crate) order: Order,
    /// True if eight cursors go round the cycle instead of one, so that loads overlap.
    pub(crate) overlapping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Random,
    Sequential,
}

/// A kernel for each worker, every one with pointers of its own; one operation is a load.
pub(crate) fn kernels(
    workload: &'static str,
    workers: NonZeroUsize,
    layout: Layout,
    pages: Pages,
) -> Result<Job, WorkloadError> {
    let bytes = layout.length.saturating_mul(layout.stride);
    // The table from which the order is written exists as long as that takes.
    let with_table = bytes.saturating_add(layout.length.saturating_mul(size_of::<u32>() as u64));
    ensure_available(workload, with_table.saturating_mul(workers.get() as u64))?;
    let memories = map_each(workload, workers, bytes, pages)?;
    let kernels = memories.into_iter().map(|memory| {
        let cursors = [0; TOGETHER];
        CycleKernel { memory, layout, linked: false, cursors, loads: 0 }
    });
    Ok(Job::of(kernels))
}

struct CycleKernel {
    memory: Memory,
    layout: Layout,
    linked: bool,
    /// Exposed addresses of pointers in `memory`; only the first is used unless loads overlap.
    cursors: [usize; TOGETHER],
    loads: u64,
}

impl Kernel for CycleKernel {
    /// The pointers are written once: no run changes them.
    fn reset(&mut self) {
        let start = self.memory.as_mut_ptr().expose_provenance();
        if !self.linked {
            self.link(start);
            self.linked = true;
        }
        let layout = self.layout;
        for (share, cursor) in (0..).zip(&mut self.cursors) {
            *cursor = start + layout.place(share * layout.length / TOGETHER as u64);
        }
        self.loads = 0;
    }

    /// Goes on where the run before ended.
    fn run(&mut self, operations: u64) {
        self.loads += operations;
        // SAFETY: `reset` put the cursors on pointers of `memory`, each of which holds the exposed
        // address of another.
        unsafe {
            if self.layout.overlapping {
                follow_together(&mut self.cursors, operations);
            } else {
                self.cursors[0] = follow(self.cursors[0], operations);
            }
        }
    }

    /// The number of loads plus where each cursor stands, in bytes from the start, as digits of base
    /// 31 with the first cursor as the highest.
    fn check(&self) -> u64 {
        let used = if self.layout.overlapping { TOGETHER } else { 1 };
        let start = self.memory.as_ptr().addr();
        let offsets = self.cursors[..used].iter().map(|cursor| (cursor - start) as u64);
        let digits = offsets.fold(0_u64, |sum, offset| sum.wrapping_mul(31).wrapping_add(offset));
        digits.wrapping_add(self.loads)
    }

    fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}

impl CycleKernel {
    /// Writes the pointers in the order of their places, which is quick: the random order comes from
    /// a table of four bytes a pointer, far smaller than the memory.
    fn link(&mut self, start: usize) {
        let Layout { length, order, .. } = self.layout;
        let layout = self.layout;
        let mut write = |(index, next): (u64, u64)| {
            let address = start + layout.place(next);
            self.memory[layout.place(index)..][..size_of::<usize>()]
                .copy_from_slice(&address.to_ne_bytes());
        };
        match order {
            Order::Random => (0..).zip(random_cycle(length)).for_each(&mut write),
            Order::Sequential => (0..length).zip((1..length).chain([0])).for_each(&mut write),
        }
    }
}

impl Layout {
    /// Bytes from the start of the memory to a pointer.
    fn place(&self, index: u64) -> usize {
        (index * self.stride + index / BEFORE_SKEW * self.skew % self.stride) as usize
    }
}

/// Follows one pointer after the other: bound by the latency of a load.
///
/// # Safety
/// `cursor` and all that is reached from it are exposed addresses of initialised pointers.
#[inline(never)]
unsafe fn follow(mut cursor: usize, loads: u64) -> usize {
    for _ in 0..loads {
        // SAFETY: the caller says so.
        cursor = unsafe { load(cursor) };
    }
    cursor
}

/// Follows all cursors in turn: bound by how many loads the core keeps under way. Where `loads` is no
/// multiple of their number, the first ones get one more.
///
/// # Safety
/// As for [`follow`], for every cursor.
#[inline(never)]
unsafe fn follow_together(cursors: &mut [usize; TOGETHER], loads: u64) {
    let mut local = *cursors;
    for _ in 0..loads / TOGETHER as u64 {
        // SAFETY: the caller says so.
        local = local.map(|cursor| unsafe { load(cursor) });
    }
    for cursor in &mut local[..(loads % TOGETHER as u64) as usize] {
        // SAFETY: the caller says so.
        *cursor = unsafe { load(*cursor) };
    }
    *cursors = local;
}

/// # Safety
/// `address` is the exposed address of an initialised pointer.
#[inline(always)]
unsafe fn load(address: usize) -> usize {
    // SAFETY: the caller says so.
    unsafe { std::ptr::with_exposed_provenance::<usize>(address).read() }
}

/// The successor of each of `length` elements in a random cycle through all of them, always the same
/// one (Sattolo, An algorithm to generate a random cyclic permutation, 1986).
fn random_cycle(length: u64) -> impl Iterator<Item = u64> {
    let mut next: Vec<u32> = (0..length).map(|index| index as u32).collect();
    let mut state = 0;
    for last in (1..next.len()).rev() {
        let other = (u128::from(split_mix(&mut state)) * last as u128) >> 64;
        next.swap(last, other as usize);
    }
    next.into_iter().map(u64::from)
}

/// The next random number (Steele, Lea and Flood, Fast splittable pseudorandom number generators,
/// 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
