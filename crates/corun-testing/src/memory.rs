//! An allocator that counts, thread by thread, for tests of the memory that something takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { bytes: 0, most: 0, allocations: 0 }) };
}

/// Memory of this thread since it began to count.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    bytes: isize,
    most: isize,
    allocations: u64,
}

/// The system's allocator, which counts: `#[global_allocator]` of a test.
#[derive(Debug)]
pub struct CountingAllocator;

/// Memory that some work took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The most bytes at a time, beyond those before it.
    pub most_bytes: usize,
    /// Number of allocations, those that grew included.
    pub allocations: u64,
}

/// Result of the work, and the memory that this thread took for it: zero unless the test has the
/// [`CountingAllocator`].
pub fn memory_of<T>(work: impl FnOnce() -> T) -> (T, Memory) {
    HELD.set(Held::default());
    let made = work();
    let Held { most, allocations, .. } = HELD.get();
    (made, Memory { most_bytes: most.cast_unsigned(), allocations })
}

fn count(bytes: isize, allocations: u64) {
    // A thread that ends has no account any more.
    let _ = HELD.try_with(|held| {
        let Held { bytes: before, most, allocations: so_far } = held.get();
        let bytes = before + bytes;
        held.set(Held { bytes, most: most.max(bytes), allocations: so_far + allocations });
    });
}

// SAFETY: all is passed on to the system's allocator, and counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed(), 1);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed(), 0);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed() - layout.size().cast_signed(), 1);
        // SAFETY: as the caller says.
        unsafe { System.realloc(block, layout, size) }
    }
}
