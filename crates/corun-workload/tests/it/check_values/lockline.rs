//! A lock that was taken n times has protected n increments.

use super::{OPERATIONS, kernels, run_at_once};

/// Below 64 bytes neighbours write to one line all the time, and must not disturb one another's
/// locks and data.
#[test]
fn lockline_takes_each_lock_as_often_as_asked() {
    for distance in [8, 24, 64, 128, 4096] {
        for workers in [1, 2, 5] {
            let mut kernels = kernels("lockline", &[format!("distance={distance}")], workers);
            for operations in OPERATIONS.map(|operations| operations.min(50_000)) {
                let shares: Vec<u64> = (0..workers as u64).map(|n| operations + n).collect();
                let case = format!("{distance} bytes, {workers} workers, {operations}");
                assert_eq!(run_at_once(&mut kernels, &shares), shares, "{case}");
            }
        }
    }
}
