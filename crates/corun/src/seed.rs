//! Seeds for runs without one of the user's.

use std::time::{SystemTime, UNIX_EPOCH};

/// A seed that differs from run to run, in the 53 bits that every reader of JSON keeps; from the
/// time, since a machine just started may have no other chance to offer.
pub(crate) fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 & ((1 << 53) - 1)
}
