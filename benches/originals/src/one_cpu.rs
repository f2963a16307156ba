//! Both sides alone on one logical CPU: children inherit it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Gives back the CPUs when it is dropped.
pub struct Held(CpuSet);

/// Holds this program and what it starts on the last of its logical CPUs, which interrupts like least.
///
/// # Errors
/// If the system does not allow it.
pub fn hold() -> Result<Held, String> {
    let refused = |error| format!("cannot stay on one logical CPU: {error}");
    let all = sched_getaffinity(None).map_err(refused)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| all.is_set(cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).map_err(refused)?;
    Ok(Held(all))
}

impl Drop for Held {
    fn drop(&mut self) {
        // What was allowed before is allowed now.
        let _ = sched_setaffinity(None, &self.0);
    }
}
