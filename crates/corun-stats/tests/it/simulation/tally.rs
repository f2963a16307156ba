//! Counting over replications, and the seed that all of them come from.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// The seed of this test run: `CORUN_TEST_SEED`, else fresh from the operating system.
///
/// # Panics
/// If `CORUN_TEST_SEED` is not a number.
pub(crate) fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let seed = match std::env::var("CORUN_TEST_SEED") {
            Ok(given) => given.parse().expect("CORUN_TEST_SEED is a whole number"),
            Err(_) => rand::random(),
        };
        eprintln!("CORUN_TEST_SEED={seed}");
        seed
    })
}

/// The share of replications in which `holds` is true; it is given the replication's number.
pub(crate) fn share(replications: u64, mut holds: impl FnMut(u64) -> bool) -> f64 {
    let held = (0..replications).filter(|&replication| holds(replication)).count();
    held as f64 / replications as f64
}

/// Whether a share lies within its limits; prints it, and says what is wrong if it does not.
///
/// # Errors
/// The sentence to fail with.
pub(crate) fn check(what: &str, share: f64, limits: RangeInclusive<f64>) -> Result<(), String> {
    let (low, high) = (limits.start() * 100.0, limits.end() * 100.0);
    let sentence = format!("{what}: {:.2} % (expected {low} to {high} %)", share * 100.0);
    eprintln!("{sentence}");
    if limits.contains(&share) { Ok(()) } else { Err(format!("{sentence}, seed {}", seed())) }
}
