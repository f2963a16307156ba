//! Numbers: primes, the functions of the mathematical library, series, zeros, and small matrices.

mod functions;
mod linear;
mod primes;
mod series;
mod values;

pub(super) use functions::{NUM_RTNS_1, TRIG_RTNS};
pub(super) use linear::{ARRAY_RTNS, MATRIX_RTNS};
pub(super) use primes::SIEVE;
pub(super) use series::{NEW_RAPH, SERIES_1};

/// A result in units of 2^-20, which two mathematical libraries agree on even where the last bit of
/// their results differs.
fn rounded(result: f64) -> u64 {
    (result * f64::from(1 << 20)).round_ties_even() as i64 as u64
}
