//! The C library's `qsort` and `bsearch` on 10,000 numbers.

use std::ffi::{c_int, c_void};

use super::super::descriptor;
use crate::checksum::checksum;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Descriptor, Kernel, Row, Tag};

const STEPS: Descriptor = descriptor(
    "aim9/sort_rtns_1",
    "qsort of 10,000 numbers up, down and up again, then 2,000 times bsearch",
    &[Tag::BranchPrediction, Tag::IntegerThroughput],
    ["a step: a qsort, or 2,000 searches", "steps"],
    1.0,
    "operations/s",
);

pub(in super::super) static SORT_RTNS_1: Workload = Workload {
    descriptor: &Descriptor {
        // Ten for two rounds of four steps.
        row: Some(Row { credit: 1.25, ..STEPS.row.unwrap() }),
        ..STEPS
    },
    unavailable: anywhere,
    prepare: default_kernels::<Sorting>,
};

const NUMBERS: i32 = 10_000;

/// The distance between the numbers searched for, of which the second half is not there.
const DISTANCE: usize = 10;

struct Sorting {
    table: Vec<c_int>,
    missing: u64,
}

impl Default for Sorting {
    fn default() -> Self {
        Self { table: (0..NUMBERS).collect(), missing: 0 }
    }
}

impl Kernel for Sorting {
    fn reset(&mut self) {
        self.table.clear();
        self.table.extend(0..NUMBERS);
        self.missing = 0;
    }

    fn run(&mut self, operations: u64) {
        self.missing = 0;
        for step in 0..operations {
            match step % 4 {
                0 | 2 => sort(&mut self.table, ascending),
                1 => sort(&mut self.table, descending),
                _ => self.missing += missing(&self.table),
            }
        }
    }

    /// Of the table and of how many numbers were not found.
    fn check(&self) -> u64 {
        checksum(self.table.iter().map(|&number| number as u64).chain([self.missing]))
    }
}

type Order = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

fn sort(table: &mut [c_int], order: Order) {
    // SAFETY: so many numbers of this size, which the function compares.
    unsafe {
        libc::qsort(table.as_mut_ptr().cast(), table.len(), size_of::<c_int>(), Some(order));
    }
}

/// Number of the numbers searched for that are not in the table, which ascends.
fn missing(table: &[c_int]) -> u64 {
    let searched = (0..2 * NUMBERS).step_by(DISTANCE);
    let is_missing = |number: &c_int| {
        let (key, first): (*const c_int, _) = (number, table.as_ptr().cast());
        // SAFETY: so many numbers of this size, which the function compares.
        unsafe {
            libc::bsearch(key.cast(), first, table.len(), size_of::<c_int>(), Some(ascending))
        }
        .is_null()
    };
    searched.filter(is_missing).count() as u64
}

/// # Safety
/// Both point to numbers.
unsafe extern "C" fn ascending(left: *const c_void, right: *const c_void) -> c_int {
    // SAFETY: by the function's contract; differences of such small numbers fit.
    unsafe { (*left.cast::<c_int>()).wrapping_sub(*right.cast::<c_int>()) }
}

/// # Safety
/// Both point to numbers.
unsafe extern "C" fn descending(left: *const c_void, right: *const c_void) -> c_int {
    // SAFETY: as above.
    unsafe { ascending(right, left) }
}
