//! What lies in files, and what comes over a connection: byte `n` is `n` modulo 251.

use proptest::prelude::*;

use super::super::kernels;
use super::{assert_checks, sum_to};

/// Bytes that are read at once.
const PIECE: u64 = 64 << 10;

/// The file's bytes one by one, each weighted by its place in the word of the read it came with.
fn sum_of_file(size: u64, bytes: u64) -> u64 {
    let mut sum = 0_u64;
    let mut in_piece = 0;
    for place in (0..bytes).map(|byte| byte % size) {
        if place == 0 || in_piece == PIECE {
            in_piece = 0;
        }
        sum = sum.wrapping_add((place % 251) << (in_piece % 8 * 8));
        in_piece += 1;
    }
    sum
}

#[test]
fn a_file_is_read_from_end_to_end_and_again() {
    for size in [512, 1021, PIECE, 3 * PIECE + 5] {
        let operations = [1, 7, 511, size, size + 1, 2 * size + 9, 200_000];
        assert_checks("file-read", &[&format!("size={size}")], &operations, |bytes| {
            sum_of_file(size, bytes)
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_file_read_is_right_for_any_number_of_bytes(size in 512..200_000_u64, bytes in 1..500_000_u64) {
        let mut kernel = kernels("lmbench/file-read", &[format!("size={size}")], 1).remove(0);
        kernel.reset();
        kernel.run(bytes);
        prop_assert_eq!(kernel.check(), sum_of_file(size, bytes));
    }
}

#[test]
fn a_connection_brings_every_byte_in_order() {
    assert_checks("tcp-bandwidth", &[], &[1, 251, PIECE, PIECE + 1, 3_000_000], |bytes| {
        let last = (bytes - 1) % PIECE % 251;
        bytes << 8 | last
    });
}

/// Every page of the file is touched once before any is touched again, in whatever order.
#[test]
fn every_page_is_touched_once_a_round() {
    let pages = (1 << 20) / rustix::param::page_size() as u64;
    let (rounds, rest) = (pages / 251, pages % 251);
    let all = rounds * sum_to(250) + if rest > 0 { sum_to(rest - 1) } else { 0 };
    assert_checks("page-fault", &["size=1MiB"], &[pages, 3 * pages], |touched| {
        touched / pages * all
    });
    let mut kernel = kernels("lmbench/page-fault", &["size=1MiB".into()], 1).remove(0);
    kernel.reset();
    let mut before = 0;
    for touched in [1, 7, pages - 9, 1] {
        kernel.run(touched);
        assert!(kernel.check() >= before);
        before = kernel.check();
    }
    assert_eq!(before, all, "four runs of one round");
}

/// The kernel maps a page's neighbours with it, but there is no touch of a new mapping without a
/// fault.
#[test]
fn pages_are_faulted_in() {
    let mut kernel = kernels("lmbench/page-fault", &["size=1MiB".into()], 1).remove(0);
    let pages = (1 << 20) / rustix::param::page_size() as u64;
    kernel.reset();
    for rounds in [1, 10] {
        kernel.run(rounds * pages);
        let faults = kernel.tallies()[0];
        assert!((rounds..=rounds * pages).contains(&faults), "{faults} in {rounds} rounds");
    }
}
