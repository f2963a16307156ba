//! What tests of several modules share.

use corun_record::Arm;

/// The arm of a placement, by its name, with so many workers on so many cores.
pub(crate) fn arm(placement: &str, workers: u32, cores: u32, cpus: &[u32]) -> Arm {
    Arm::new(placement.parse().expect("a placement"), workers, cores, cpus.to_vec())
}
