//! Heights of the break in closed form; blocks by their sizes; copies of slices.

use super::super::checksum::checksum;
use super::super::kernels;
use super::assert_checks;

/// Around the lengths of rounds and of the original's calls.
const SOME: [u64; 9] = [1, 2, 16, 17, 18, 99, 100, 301, 2000];

#[test]
fn the_break_falls_and_rises_again() {
    for row in ["brk_test", "page_test"] {
        assert_checks(row, &SOME, |calls| {
            let (rounds, rest) = (calls / 17, calls % 17);
            rounds * (16 * 17 / 2) + rest * rest.saturating_sub(1) / 2
        });
    }
}

/// The child must go on where the break was.
#[test]
fn the_break_is_moved_in_every_run_of_a_child() {
    let mut kernel = kernels("aim9/brk_test", &[], 1).remove(0);
    kernel.reset();
    for calls in [1, 17, 3] {
        kernel.run(calls);
    }
    assert_eq!(kernel.check(), 3);
}

#[test]
fn blocks_have_the_sizes_of_the_table() {
    let sizes = sizes();
    assert_checks("mem_rtns_1", &[SOME.as_slice(), &[299, 300, 601]].concat(), |blocks| {
        let bytes = |block: u64| {
            let triple = (block % 300 / 3) as usize;
            match block % 3 {
                0 => 45 + u64::from(b'H'),
                kind => sizes[(triple + kind as usize - 1) % 40] as u64,
            }
        };
        (0..blocks).map(bytes).sum()
    });
}

#[test]
fn bundles_leave_what_slices_would() {
    let sizes = sizes();
    assert_checks("mem_rtns_2", &SOME, |bundles| {
        let mut first = vec![1_u8; 8208];
        let mut second = first.clone();
        let mut found = 0;
        for bundle in 0..bundles as usize {
            let bundle = bundle % 100;
            let (left, right, size) = (bundle % 8, bundle / 8 % 8, sizes[bundle % 40]);
            found += bundle % size + 1;
            first[left..left + size].fill(b'A');
            second[right..right + size].fill(b'A');
            second[left..left + size].copy_from_slice(&first[right..right + size]);
        }
        let bytes = second.into_iter().chain(first).map(u64::from);
        checksum(bytes.chain([found as u64]))
    });
}

#[test]
fn copies_leave_what_slices_would() {
    let sizes = copied();
    assert_checks("ram_copy", &SOME, |copies| {
        let from: Vec<u8> = (0..65536 + 32).map(|place: usize| (place * 7) as u8).collect();
        let mut to = vec![1_u8; 65536 + 32];
        let mut bytes = 0;
        for copy in 0..copies as usize {
            let copy = copy % 100;
            let size = sizes[copy % 93];
            to[copy % 8..][..size].copy_from_slice(&from[copy / 8 % 8..][..size]);
            bytes += size as u64;
        }
        checksum(to.into_iter().map(u64::from).chain([bytes]))
    });
}

#[test]
fn the_bytes_of_a_hundred_copies_are_known() {
    let mut kernel = kernels("aim9/ram_copy", &[], 1).remove(0);
    kernel.reset();
    for (copies, bytes) in [(100, 139_996), (300, 3 * 139_996), (6, 21)] {
        kernel.run(copies);
        assert_eq!(kernel.tallies(), [bytes]);
    }
}

fn sizes() -> Vec<usize> {
    let half = [
        [1, 3, 5, 7, 9],
        [11, 33, 65, 129, 1024],
        [1025, 1023, 8192, 4096, 4095],
        [11, 33, 65, 129, 1024],
    ];
    half.as_flattened().repeat(2)
}

fn copied() -> Vec<usize> {
    let small: Vec<usize> = (1..7).collect();
    let (seven, some) = (vec![7; 6], vec![8, 9, 11, 17, 33, 63]);
    let large = vec![
        127, 256, 1001, 1200, 1492, 1500, 1024, 2048, 3172, 4096, 8192, 16384, 32768, 65536, 512,
    ];
    let before = [&small, &seven, &some, &seven, &small, &seven, &large, &seven];
    let after = [&small, &seven, &some, &seven, &small, &seven];
    before.into_iter().chain(after).flatten().copied().collect()
}
