//! Memory as the C library and the kernel give it: the break that is moved, blocks that are allocated
//! and freed, and blocks that are set, searched, compared and copied.

mod allocation;
mod blocks;
mod breaks;

pub(super) use allocation::MEM_RTNS_1;
pub(super) use blocks::{MEM_RTNS_2, RAM_COPY};
pub(super) use breaks::{BRK_TEST, PAGE_TEST};

/// The sizes of the blocks of `mem_rtns_1` and `mem_rtns_2`, in turn, in bytes.
#[rustfmt::skip]
const SIZES: [usize; 40] = [
    1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024,
    1, 3, 5, 7, 9, 11, 33, 65, 129, 1024, 1025, 1023, 8192, 4096, 4095, 11, 33, 65, 129, 1024,
];

/// The largest of them.
const LARGEST: usize = 8192;
