//! Blocks of many sizes and alignments, set, searched, compared and copied by the C library.

use std::ffi::c_void;

use super::super::descriptor;
use super::{LARGEST, SIZES};
use crate::checksum::checksum;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Descriptor, Kernel, Row, Tag, Tally};

pub(in super::super) static MEM_RTNS_2: Workload = Workload {
    descriptor: &descriptor(
        "aim9/mem_rtns_2",
        "memset, memchr, memcmp, memcpy and memmove of 1 byte to 8 KiB",
        &[Tag::StoreThroughput],
        ["a bundle of six calls", "bundles"],
        1.0,
        "bundles/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Bundles>,
};

const COPIES: Descriptor = descriptor(
    "aim9/ram_copy",
    "memcpy of 1 byte to 64 KiB at every alignment",
    &[Tag::StoreThroughput],
    ["a copy", "copies"],
    1.0,
    "copies/s",
);

pub(in super::super) static RAM_COPY: Workload = Workload {
    descriptor: &Descriptor {
        // 25020 for a hundred copies, whatever that once was.
        row: Some(Row { credit: 250.2, ..COPIES.row.unwrap() }),
        tallies: &[Tally { counted: "bytes" }],
        ..COPIES
    },
    unavailable: anywhere,
    prepare: default_kernels::<Copies>,
};

/// Bundles and copies in a call of the original, which begins each at the start of its tables.
const PER_CALL: u64 = 100;

/// Every alignment of a double is tried.
const ALIGNMENTS: usize = 8;

/// The sizes of copies, in turn, in bytes.
#[rustfmt::skip]
const COPIED: [usize; 93] = [
    1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 9, 11, 17, 33, 63, 7, 7, 7, 7, 7, 7,
    1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 127, 256, 1001, 1200, 1492, 1500,
    1024, 2048, 3172, 4096, 8192, 16384, 32768, 65536, 512,
    7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 9, 11, 17, 33, 63, 7, 7, 7, 7, 7, 7,
    1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7,
];

/// Two buffers, as far apart as the original's: a load waits for an earlier store to an address with
/// the same last twelve bits, so that this distance decides how fast copies are.
#[repr(C, align(64))]
struct Pair<const BYTES: usize> {
    low: [u8; BYTES],
    high: [u8; BYTES],
}

impl<const BYTES: usize> Pair<BYTES> {
    fn boxed() -> Box<Self> {
        Box::new(Self { low: [0; BYTES], high: [0; BYTES] })
    }
}

struct Bundles {
    buffers: Box<Pair<{ LARGEST + 2 * ALIGNMENTS }>>,
    found: u64,
}

impl Default for Bundles {
    fn default() -> Self {
        Self { buffers: Pair::boxed(), found: 0 }
    }
}

impl Kernel for Bundles {
    fn reset(&mut self) {
        self.buffers.low.fill(1);
        self.buffers.high.fill(1);
        self.found = 0;
    }

    fn run(&mut self, operations: u64) {
        self.found = 0;
        let Pair { low: second, high: first } = &mut *self.buffers;
        let (first, second) = (first.as_mut_ptr(), second.as_mut_ptr());
        let mut turn = 0;
        for _ in 0..operations {
            // SAFETY: both have room for the largest size at every alignment.
            self.found += unsafe { bundle(turn, first, second) };
            turn = if turn + 1 == PER_CALL as usize { 0 } else { turn + 1 };
        }
    }

    /// Of the places found, and of both buffers.
    fn check(&self) -> u64 {
        let bytes = self.buffers.low.iter().chain(&self.buffers.high).map(|&byte| byte.into());
        checksum(bytes.chain([self.found]))
    }
}

/// Makes one buffer differ from the other by a byte, finds it, and copies one over the other, and
/// back; returns where the byte was, and 1 if the buffer with it came after the other.
///
/// # Safety
/// Both have room for [`LARGEST`] + [`ALIGNMENTS`] bytes.
#[inline(always)]
unsafe fn bundle(turn: usize, first: *mut u8, second: *mut u8) -> u64 {
    let offsets = [turn % ALIGNMENTS, turn / ALIGNMENTS % ALIGNMENTS];
    let size = SIZES[turn % SIZES.len()];
    // SAFETY: by the function's contract; the byte searched for is there.
    unsafe {
        let (left, right) = (first.add(offsets[0]), second.add(offsets[1]));
        libc::memset(left.cast(), i32::from(b'A'), size);
        libc::memset(right.cast(), i32::from(b'A'), size);
        *left.add(turn % size) = b'Z';
        let found: *mut u8 = libc::memchr(left.cast(), i32::from(b'Z'), size).cast();
        let order = libc::memcmp(left.cast(), right.cast(), size);
        if order > 0 {
            *found = b'A';
        }
        libc::memcpy(left.cast(), right.cast(), size);
        let (from, to): (*mut c_void, _) = (first.add(offsets[1]).cast(), second.add(offsets[0]));
        libc::memmove(to.cast(), from, size);
        found.offset_from_unsigned(left) as u64 + u64::from(order > 0)
    }
}

struct Copies {
    /// Copied from the high one to the low one.
    buffers: Box<Pair<{ 65536 + 4 * ALIGNMENTS }>>,
    bytes: u64,
}

impl Default for Copies {
    fn default() -> Self {
        Self { buffers: Pair::boxed(), bytes: 0 }
    }
}

impl Kernel for Copies {
    fn reset(&mut self) {
        for (place, byte) in self.buffers.high.iter_mut().enumerate() {
            *byte = (place * 7) as u8;
        }
        self.buffers.low.fill(1);
        self.bytes = 0;
    }

    fn run(&mut self, operations: u64) {
        self.bytes = 0;
        let Pair { low, high } = &mut *self.buffers;
        let (to, from) = (low.as_mut_ptr(), high.as_ptr());
        let mut turn = 0;
        for _ in 0..operations {
            let size = COPIED[turn % COPIED.len()];
            // SAFETY: both have room for the largest size at every alignment.
            unsafe {
                let from = from.add(turn / ALIGNMENTS % ALIGNMENTS);
                libc::memcpy(to.add(turn % ALIGNMENTS).cast(), from.cast(), size);
            }
            self.bytes += size as u64;
            turn = if turn + 1 == PER_CALL as usize { 0 } else { turn + 1 };
        }
    }

    fn tallies(&self) -> Vec<u64> {
        vec![self.bytes]
    }

    /// Of what was copied, and how much.
    fn check(&self) -> u64 {
        checksum(self.buffers.low.iter().map(|&byte| byte.into()).chain([self.bytes]))
    }
}
