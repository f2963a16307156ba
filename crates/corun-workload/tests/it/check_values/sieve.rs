//! Primes counted by Legendre's formula, itself held against known values.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn sieve_finds_every_prime_of_every_pass() {
    for limit in [2, 3, 9, 10, 26, 1024, 1025, 999_999, 10_000_000_000] {
        for segment in [1024, 1031, 32 << 10] {
            let parameters = [format!("limit={limit}"), format!("segment={segment}")];
            let mut kernels = kernels("sieve", &parameters, 2);
            for operations in OPERATIONS {
                let (passes, rest) = (operations / limit, operations % limit);
                let expected = passes * primes_below(limit.min(operations)) + primes_below(rest);
                let case = format!("{parameters:?}, {operations}");
                assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
            }
        }
    }
}

/// Legendre's formula: what remains of the numbers up to n - 1 without the multiples of the primes
/// up to their root, plus these primes, without 1.
fn primes_below(n: u64) -> u64 {
    let Some(last) = n.checked_sub(1).filter(|&last| last > 1) else { return 0 };
    let primes: Vec<u64> = (2..=last.isqrt()).filter(|&number| is_prime(number)).collect();
    primes.len() as u64 + remaining(last, &primes) - 1
}

/// Number of the numbers from 1 to `last` that no prime of `primes` divides.
fn remaining(last: u64, primes: &[u64]) -> u64 {
    match primes.split_last() {
        Some((prime, smaller)) if last > 0 => {
            remaining(last, smaller) - remaining(last / prime, smaller)
        }
        _ => last,
    }
}

fn is_prime(number: u64) -> bool {
    (2..=number.isqrt()).all(|divisor| !number.is_multiple_of(divisor))
}

#[test]
fn legendre_knows_published_counts() {
    let known = [(2, 0), (3, 1), (10, 4), (100, 25), (1000, 168), (1_000_000, 78_498)];
    assert_eq!(known.map(|(n, _)| (n, primes_below(n))), known);
}
