//! The rows of LMbench: what the kernel answers, what comes back from other processes, and what lies
//! in files.

mod calls;
mod data;
mod processes;

use super::{kernels, run_at_once};

/// Asserts that two workers, which have done something else before, find `expected` after each of
/// these numbers of operations.
fn assert_checks(
    row: &str,
    parameters: &[&str],
    operations: &[u64],
    expected: impl Fn(u64) -> u64,
) {
    let parameters: Vec<String> = parameters.iter().map(|&parameter| parameter.into()).collect();
    let mut kernels = kernels(&format!("lmbench/{row}"), &parameters, 2);
    for &operations in operations {
        let found = run_at_once(&mut kernels, &[operations; 2]);
        assert_eq!(found, [expected(operations); 2], "{row}, {parameters:?}, {operations}");
    }
}

/// `1 + 2 + ... + last`.
fn sum_to(last: u64) -> u64 {
    last * (last + 1) / 2
}
