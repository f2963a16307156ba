//! The same numbers without the blocks around them.

use super::generated::Random;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn alloc_keeps_every_block_until_it_is_released() {
    for live in [1, 2, 1000] {
        let mut kernels = kernels("alloc", &[format!("live={live}")], 2);
        for operations in OPERATIONS {
            let expected = alloc_check(live, operations);
            let case = format!("{live} blocks, {operations} allocations");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
    }
}

fn alloc_check(live: u64, operations: u64) -> u64 {
    let mut random = Random::new(8);
    let mut numbers: Vec<u64> = (0..live).map(|_| number(&mut random)).collect();
    let mut released: u64 = 0;
    for _ in 0..operations {
        let place = random.below(live) as usize;
        let old = std::mem::replace(&mut numbers[place], number(&mut random));
        released = released.wrapping_mul(3).wrapping_add(old);
    }
    numbers.into_iter().fold(released, u64::wrapping_add)
}

/// The number in a new block, drawn after its size, which takes two draws.
fn number(random: &mut Random) -> u64 {
    random.any();
    random.any();
    random.any()
}
