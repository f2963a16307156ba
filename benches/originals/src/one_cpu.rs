//! The original on the logical CPU that corun takes for a worker alone: children inherit it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Gives back the CPUs when it is dropped.
pub(crate) struct Held(CpuSet);

/// Holds this program and what it starts on the first of its logical CPUs.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn hold() -> Result<Held, String> {
    let refused = |error| format!("cannot stay on one logical CPU: {error}");
    let all = sched_getaffinity(None).map_err(refused)?;
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).map_err(refused)?;
    Ok(Held(all))
}

impl Drop for Held {
    fn drop(&mut self) {
        // What was allowed before is allowed now.
        let _ = sched_setaffinity(None, &self.0);
    }
}
