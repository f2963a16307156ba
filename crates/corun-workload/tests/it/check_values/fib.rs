//! Fibonacci numbers by fast doubling.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn fib_computes_fibonacci_numbers_in_every_variant() {
    for variant in ["memory", "register"] {
        for call in ["inline", "call"] {
            for workers in [1, 2, 5] {
                let parameters = [format!("variant={variant}"), format!("call={call}")];
                let mut kernels = kernels("fib", &parameters, workers);
                for operations in OPERATIONS {
                    let shares = vec![operations; workers];
                    let expected = vec![fibonacci(operations + 2); workers];
                    let case = format!("{parameters:?}, {workers} workers, {operations}");
                    assert_eq!(run_at_once(&mut kernels, &shares), expected, "{case}");
                }
            }
        }
    }
}

/// Workers 2k and 2k + 1 write to one line all the time, and must not get into each other's way
/// otherwise.
#[test]
fn fib_is_right_while_workers_share_lines() {
    for granularity in [32, 40, 64, 4096] {
        for variant in ["memory", "register"] {
            let parameters = [format!("granularity={granularity}"), format!("variant={variant}")];
            let mut kernels = kernels("fib", &parameters, 4);
            let shares = [1_000_000, 1_000_001, 999_999, 777_778];
            let expected = shares.map(|operations| fibonacci(operations + 2));
            assert_eq!(run_at_once(&mut kernels, &shares), expected, "{parameters:?}");
        }
    }
}

/// Fibonacci number `n` modulo 2^64, with F(1) = F(2) = 1, by fast doubling:
/// F(2k) = F(k) (2 F(k+1) - F(k)) and F(2k+1) = F(k)^2 + F(k+1)^2.
fn fibonacci(n: u64) -> u64 {
    fn pair(n: u64) -> (u64, u64) {
        if n == 0 {
            return (0, 1);
        }
        let (a, b) = pair(n / 2);
        let even = a.wrapping_mul(b.wrapping_mul(2).wrapping_sub(a));
        let odd = a.wrapping_mul(a).wrapping_add(b.wrapping_mul(b));
        match n % 2 {
            0 => (even, odd),
            _ => (odd, even.wrapping_add(odd)),
        }
    }
    pair(n).0
}

#[test]
fn fast_doubling_knows_published_numbers() {
    let known = [(1, 1), (2, 1), (10, 55), (93, 12_200_160_415_121_876_738)];
    assert_eq!(known.map(|(n, _)| (n, fibonacci(n))), known);
}
