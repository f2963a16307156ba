//! What the files hold after a run, computed from the order in which blocks come; and how many names
//! there are.

use super::{assert_checks, assert_reset_forgets, assert_tallies};
use crate::check_values::checksum::checksum;

/// Blocks of the file of 64 KiB that most of these tests use by their parameters.
const BLOCKS: u64 = 64;
const FILE_SIZE: &str = "file_size=64KiB";
/// Of the tests that write synchronously, which use half.
const DOUBLE: &str = "file_size=128KiB";

const OPERATIONS: [u64; 6] = [1, 2, 63, 64, 65, 1000];
const FEW_OPERATIONS: [u64; 4] = [1, 64, 65, 100];

/// The blocks in random order: the generator of the original in the 32 bits that its 15 come from.
fn random_blocks(blocks: u64) -> impl Iterator<Item = u64> {
    let next = |seed: &u32| Some(seed.wrapping_mul(1_103_515_245).wrapping_add(12_345));
    let seeds = std::iter::successors(Some(1), next).skip(1);
    seeds.map(move |seed| u64::from(seed << 1 >> 17) % blocks)
}

/// The numbers of the blocks in this order, and a file that is as it was.
fn read_in(order: impl Iterator<Item = u64>) -> impl Fn(u64) -> u64 {
    let order: Vec<u64> = order.take(1000).collect();
    move |operations| {
        let read = order[..operations as usize].iter().sum();
        checksum([read].into_iter().chain(0..BLOCKS))
    }
}

/// Each block holds the last operation that wrote it, or its own number.
fn written_at_random(operations: u64) -> u64 {
    let order: Vec<u64> = random_blocks(BLOCKS).take(operations as usize).collect();
    let last = |block| order.iter().rposition(|&written| written == block);
    let stamps = (0..BLOCKS).map(|block| last(block).map_or(block, |last| last as u64 + 1));
    checksum([0].into_iter().chain(stamps))
}

/// Content of the file since it was empty.
fn written_on(operations: u64) -> u64 {
    let length = (operations - 1) % BLOCKS + 1;
    checksum([0].into_iter().chain(operations - length + 1..=operations))
}

fn copied(operations: u64) -> u64 {
    let (rounds, length) = ((operations - 1) / BLOCKS, (operations - 1) % BLOCKS + 1);
    let read = rounds * BLOCKS * (BLOCKS - 1) / 2 + length * (length - 1) / 2;
    checksum([read].into_iter().chain(0..length))
}

#[test]
fn reads_find_what_the_blocks_hold() {
    assert_checks("aim9/disk_rd", &[FILE_SIZE], &OPERATIONS, read_in((0..BLOCKS).cycle()));
    assert_checks("aim9/disk_rr", &[FILE_SIZE], &OPERATIONS, read_in(random_blocks(BLOCKS)));
}

#[test]
fn writes_and_copies_arrive() {
    assert_checks("aim9/disk_rw", &[FILE_SIZE], &OPERATIONS, written_at_random);
    assert_checks("aim9/disk_wrt", &[FILE_SIZE], &OPERATIONS, written_on);
    assert_checks("aim9/disk_cp", &[FILE_SIZE], &OPERATIONS, copied);
}

#[test]
fn writes_that_wait_for_the_disk_arrive_in_half_of_the_file() {
    assert_checks("aim9/sync_disk_rw", &[DOUBLE], &FEW_OPERATIONS, written_at_random);
    assert_checks("aim9/sync_disk_wrt", &[DOUBLE], &FEW_OPERATIONS, written_on);
    assert_checks("aim9/sync_disk_cp", &[DOUBLE], &FEW_OPERATIONS, copied);
}

#[test]
fn a_reset_restores_the_files() {
    for row in ["disk_rr", "disk_rw", "disk_rd", "disk_wrt", "disk_cp"] {
        assert_reset_forgets(&format!("aim9/{row}"), &[FILE_SIZE], [7, 1000]);
    }
}

#[test]
fn creat_clo_leaves_an_empty_file() {
    assert_checks("aim9/creat-clo", &[], &[1, 1000], |operations| operations + 1);
    assert_reset_forgets("aim9/creat-clo", &[], [7, 100]);
}

#[test]
fn link_test_leaves_a_file_of_eight_names() {
    assert_checks("aim9/link_test", &[], &[1, 7, 8, 1000], |operations| operations + 1);
    assert_reset_forgets("aim9/link_test", &[], [10, 100]);
}

#[test]
fn disk_src_looks_up_and_makes_the_names_of_its_lists() {
    // In whole rounds the order of the slots does not matter.
    let tallies = |operations| vec![operations / 75 * 57, operations / 75 * 43];
    assert_tallies("aim9/disk_src", &[75, 750], tallies);
    assert_checks("aim9/disk_src", &[], &[75, 750], |operations| {
        let tallies = tallies(operations);
        tallies[0] << 32 | tallies[1]
    });
    assert_reset_forgets("aim9/disk_src", &[], [7, 100]);
}

#[test]
fn dir_rtns_1_finds_every_entry_in_each_round() {
    let folder = if std::path::Path::new("/bin").exists() { "/bin" } else { "/" };
    // With the folder itself and the one above, which this iterator leaves out.
    let entries = std::fs::read_dir(folder).unwrap().count() as u64 + 2;
    let operations = [1, entries, entries + 1, entries + 2, 3 * (entries + 1)];
    assert_tallies("aim9/dir_rtns_1", &operations, |operations| {
        vec![operations - operations / (entries + 1)]
    });
    assert_checks("aim9/dir_rtns_1", &[], &operations, |operations| operations);
}
