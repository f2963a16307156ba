//! The exclusive or of all updates as a geometric sum of polynomials over GF(2).

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn gups_updates_with_every_number_of_the_sequence() {
    for size in ["1KiB", "1032", "1MiB"] {
        let mut kernels = kernels("gups", &[format!("size={size}")], 2);
        for operations in OPERATIONS {
            // The elements start as their indices, which cancel out.
            let expected = [sum_of_powers(operations).0; 2];
            let found = run_at_once(&mut kernels, &[operations; 2]);
            assert_eq!(found, expected, "{size} {operations}");
        }
    }
}

#[test]
fn gups_updates_the_places_that_the_numbers_name() {
    let mut kernel = kernels("gups", &["size=3000".into()], 1).remove(0);
    kernel.reset();
    kernel.run(1000);
    kernel.run(234);
    let mut expected: Vec<u64> = (0..256).collect();
    for exponent in 1..=1234 {
        let number = sum_of_powers(exponent).1;
        expected[(number % 256) as usize] ^= number;
    }
    let found: Vec<u64> =
        kernel.memory().chunks(8).map(|it| u64::from_ne_bytes(it.try_into().unwrap())).collect();
    assert_eq!(found, expected);
}

/// x + x^2 + ... + x^n, and x^n, modulo x^64 + x^2 + x + 1, where bit k stands for x^k: by
/// doubling, since the sum to 2n is the sum to n times (1 + x^n).
fn sum_of_powers(n: u64) -> (u64, u64) {
    if n == 0 {
        return (0, 1);
    }
    let (half_sum, half_power) = sum_of_powers(n / 2);
    let sum = half_sum ^ product(half_sum, half_power);
    let power = product(half_power, half_power);
    match n % 2 {
        0 => (sum, power),
        _ => (sum ^ product(power, 2), product(power, 2)),
    }
}

fn product(a: u64, b: u64) -> u64 {
    let mut wide =
        (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ (u128::from(a) << bit));
    for bit in (64..128).rev() {
        if wide >> bit & 1 == 1 {
            wide ^= ((1 << 64) | 7) << (bit - 64);
        }
    }
    wide as u64
}
