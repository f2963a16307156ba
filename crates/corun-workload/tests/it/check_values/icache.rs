//! Sums of block numbers by Gauss's formula.

use corun_workload::find;

use super::{OPERATIONS, kernels, run_at_once};

/// Number of additions of a block.
const ADDITIONS: u64 = if cfg!(target_arch = "x86_64") { 10 } else { 7 };

#[test]
fn icache_runs_every_block_of_every_pass_and_the_last_ones() {
    if let Some(reason) = find("icache").unwrap().unavailable() {
        return corun_testing::skip("icache", &reason);
    }
    for (size, blocks) in [("64", 1), ("128", 2), ("1KiB", 16), ("65600", 1025), ("1MiB", 16_384)] {
        for order in ["random", "sequential"] {
            let parameters = [format!("size={size}"), format!("order={order}")];
            let mut kernels = kernels("icache", &parameters, 2);
            for operations in OPERATIONS {
                let (passes, rest) = (operations / blocks, operations % blocks);
                let numbers = (passes + 1) * sum_to(blocks) - sum_to(blocks - rest);
                let expected = (ADDITIONS * numbers) % (1 << 32);
                let case = format!("{parameters:?}, {operations}");
                assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
            }
        }
    }
}

fn sum_to(last: u64) -> u64 {
    last * (last + 1) / 2
}
