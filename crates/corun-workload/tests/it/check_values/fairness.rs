//! Many steps of a linear generator at once: its powers by repeated squaring.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn fairness_goes_through_every_step() {
    for workers in [1, 3] {
        let mut kernels = kernels("fairness", &[], workers);
        for operations in OPERATIONS {
            let expected = vec![state_after(operations); workers];
            assert_eq!(run_at_once(&mut kernels, &vec![operations; workers]), expected);
        }
    }
}

/// x -> a x + c, `steps` times from 0: squaring the map doubles its steps.
fn state_after(steps: u64) -> u64 {
    let then = |(a, c): (u64, u64), (b, d): (u64, u64)| {
        (a.wrapping_mul(b), c.wrapping_mul(b).wrapping_add(d))
    };
    let (mut power, mut all) = ((6_364_136_223_846_793_005, 1_442_695_040_888_963_407), (1, 0));
    for bit in 0..u64::BITS {
        if steps >> bit & 1 == 1 {
            all = then(all, power);
        }
        power = then(power, power);
    }
    all.1
}
