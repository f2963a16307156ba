//! Branches taken, counted bit by bit from the numbered outputs of the generator.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn branchy_takes_the_branches_of_its_pattern() {
    let random = |branch: u64| bit(branch / 64, branch);
    let biased = |branch: u64| (0..3).all(|word| bit(branch / 64 * 3 + word, branch));
    check("pattern=random", 1, random);
    check("pattern=biased", 1, biased);
    for period in [1, 2, 63, 64, 65, 127, 1000, 1 << 20] {
        check("pattern=periodic", period, |branch| random(branch % period));
    }
}

fn check(pattern: &str, period: u64, is_taken: impl Fn(u64) -> bool) {
    let parameters = [pattern.to_owned(), format!("period={period}")];
    let mut kernels = kernels("branchy", &parameters, 2);
    for operations in OPERATIONS {
        let expected = (0..operations).filter(|&branch| is_taken(branch)).count() as u64;
        let case = format!("{parameters:?}, {operations}");
        assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
    }
}

/// A bit of SplitMix64's output number `index` from seed 0, which can be had without those before.
fn bit(index: u64, branch: u64) -> bool {
    let mixed = [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb), (31, 1)]
        .into_iter()
        .fold((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), |bits: u64, (shift, factor)| {
            (bits ^ (bits >> shift)).wrapping_mul(factor)
        });
    mixed >> (branch % 64) & 1 == 1
}

#[test]
fn the_generator_gives_published_outputs() {
    let first = (0..64).map(|branch| u64::from(bit(0, branch)) << branch).sum::<u64>();
    assert_eq!(first, 0xe220_a839_7b1d_cdaf);
}
