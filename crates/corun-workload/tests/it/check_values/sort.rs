//! The same numbers in order, by way of a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::checksum::checksum;
use super::generated::Random;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn sort_sorts_every_pass() {
    for length in [8, 1024, 65_536] {
        let mut kernels = kernels("sort", &[format!("size={}", 8 * length)], 2);
        for operations in OPERATIONS {
            let expected = sort_check(length, operations);
            let case = format!("{operations} elements in arrays of {length}");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
    }
}

/// The array after the last whole pass, its start overwritten by a pass over the elements left.
fn sort_check(length: usize, operations: u64) -> u64 {
    let mut random = Random::new(6);
    let shuffled: Vec<u64> = (0..length).map(|_| random.any()).collect();
    let rest = (operations % length as u64) as usize;
    let mut array = in_order(&shuffled[..rest]);
    if operations < length as u64 {
        array.resize(length, 0);
    } else {
        array.extend(&in_order(&shuffled)[rest..]);
    }
    checksum(array).wrapping_add(operations)
}

fn in_order(numbers: &[u64]) -> Vec<u64> {
    let mut heap: BinaryHeap<_> = numbers.iter().copied().map(Reverse).collect();
    std::iter::from_fn(|| heap.pop().map(|Reverse(number)| number)).collect()
}
