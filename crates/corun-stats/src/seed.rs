//! Seeds of random orders, one way for all: recorded with a run, so that it can be repeated.

use std::time::SystemTime;

/// A seed that differs from run to run, in the 53 bits that every reader of JSON keeps.
///
/// From the time, not from the system's randomness, which may block on a machine just started.
pub fn fresh_seed(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mixed = (since.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 11
}
