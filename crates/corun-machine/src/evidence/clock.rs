//! The clock of a CPU, from a chain of dependent multiplications.
//!
//! A multiplication waits for the one before it, takes the same few cycles on every core (three on
//! x86-64 since about 2008) and cannot be folded away, as some cores fold dependent additions of
//! constants.

use std::time::Instant;

use crate::probe::loops::{Loop, STEP};

/// Multiplications in one timed chain: some 5 microseconds.
const CHAIN: u32 = 4096;
/// On x86-64 since about 2008.
const CYCLES_OF_MULTIPLICATION: f64 = 3.0;
/// Chains a probe; the fastest counts, so that an interrupt does not.
const CHAINS: u32 = 4;

/// Multiplications per nanosecond, each waiting for the one before, on the CPU that this thread is on.
pub fn multiplication_rate() -> f64 {
    let shortest = (0..CHAINS)
        .map(|_| {
            let begin = Instant::now();
            Loop::Chain.run(CHAIN / STEP);
            begin.elapsed()
        })
        .min()
        .unwrap_or_default();
    f64::from(CHAIN) / (shortest.as_nanos().max(1) as f64)
}

/// GHz of the CPU that this thread is on, if it is one of x86-64.
pub fn gigahertz() -> f64 {
    CYCLES_OF_MULTIPLICATION * multiplication_rate()
}
