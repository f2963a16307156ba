//! The rows of AIM9: a file a family.

mod arithmetic;
mod calls;
mod library;
mod memory;
mod numeric;

use super::{assert_reset_forgets, kernels, run_at_once};

/// Asserts what each of two workers finds after so many operations.
fn assert_checks(row: &str, operations: &[u64], expected: impl Fn(u64) -> u64) {
    let mut kernels = kernels(&format!("aim9/{row}"), &[], 2);
    for &operations in operations {
        let found = run_at_once(&mut kernels, &[operations; 2]);
        assert_eq!(found, [expected(operations); 2], "{row}, {operations}");
    }
}
