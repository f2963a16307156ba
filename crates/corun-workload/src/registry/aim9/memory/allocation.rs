//! Blocks of many sizes, allocated three at a time, read, and freed from the last to the first.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use super::super::descriptor;
use super::SIZES;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static MEM_RTNS_1: Workload = Workload {
    descriptor: &descriptor(
        "aim9/mem_rtns_1",
        "malloc, calloc, strcpy and free of blocks of 1 byte to 8 KiB",
        &[Tag::Allocation],
        ["an allocation, and freeing it", "allocations"],
        1.0,
        "operations/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Allocation>,
};

/// The most blocks that there are at a time.
const BLOCKS: usize = 300;

/// Content of the first block of three.
const TEXT: &CStr = c"Hello, this is an average length string 1234";

#[derive(Default)]
struct Allocation {
    count: u64,
}

impl Kernel for Allocation {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn run(&mut self, operations: u64) {
        let mut blocks = [ptr::null_mut(); BLOCKS];
        let rounds = operations / BLOCKS as u64;
        self.count = (0..rounds).map(|_| round(&mut blocks)).sum();
        self.count += round(&mut blocks[..(operations % BLOCKS as u64) as usize]);
    }

    /// The bytes asked for, and the first byte of each block that was filled.
    fn check(&self) -> u64 {
        self.count
    }
}

/// Allocates, reads and frees as many blocks as there are places.
#[inline(never)]
fn round(blocks: &mut [*mut c_void]) -> u64 {
    let mut count = 0;
    for (triple, blocks) in blocks.chunks_mut(3).enumerate() {
        let sizes = [triple, triple + 1].map(|place| SIZES[place % SIZES.len()]);
        count += allocate(blocks, sizes);
    }
    for (place, block) in blocks.iter().enumerate() {
        // SAFETY: each block has a byte or more.
        let first = unsafe { block.cast::<MaybeUninit<u8>>().read_volatile() };
        // That of a `malloc` alone was never written.
        if place % 3 != 1 {
            // SAFETY: those of the others were.
            count += u64::from(unsafe { first.assume_init() });
        }
    }
    for blocks in blocks.chunks_mut(3).rev() {
        for place in [0, 2, 1] {
            if let Some(&mut block) = blocks.get_mut(place) {
                // SAFETY: it was allocated above and is not used again.
                unsafe { libc::free(block) };
            }
        }
    }
    count
}

/// Allocates three blocks, or the first of them; returns how many bytes they are.
#[inline(always)]
fn allocate(blocks: &mut [*mut c_void], sizes: [usize; 2]) -> u64 {
    let mut bytes = 0;
    for (place, block) in blocks.iter_mut().enumerate() {
        // SAFETY: the first has room for the text and for the zero at its end.
        *block = unsafe {
            match place {
                0 => {
                    let block = expect_room(libc::malloc(TEXT.count_bytes() + 1));
                    libc::strcpy(block.cast(), TEXT.as_ptr());
                    bytes += libc::strlen(block.cast()) + 1;
                    block
                }
                1 => {
                    bytes += sizes[0];
                    expect_room(libc::malloc(sizes[0]))
                }
                _ => {
                    bytes += sizes[1];
                    expect_room(libc::calloc(sizes[1], 1))
                }
            }
        };
    }
    bytes as u64
}

#[inline(always)]
fn expect_room(block: *mut c_void) -> *mut c_void {
    assert!(!block.is_null(), "the system gives no memory for a block of at most 8 KiB");
    block
}
