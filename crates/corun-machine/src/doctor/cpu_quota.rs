//! The quota of CPU time as a number, for those that plan work by it: read as the check `quota` reads it.

use super::registry::quota::tightest;
use super::system::System;
use crate::{Machine, SystemFiles};

/// A quota of CPU time below the number of allowed CPUs.
pub(crate) struct CpuQuota {
    /// The CPU time a period, as a number of CPUs.
    pub(crate) cpus: f64,
    /// The folder of the control group that sets it.
    pub(crate) folder: String,
}

/// The tightest quota of this process, if it is below the number of CPUs that are allowed.
///
/// # Errors
/// If a file that should say it is missing or odd, or control groups that may have one are not seen; a sentence says
/// which.
pub(crate) fn cpu_quota(
    files: &mut dyn SystemFiles,
    machine: &Machine,
) -> Result<Option<CpuQuota>, String> {
    let mut system = System::new(files, machine, None);
    let found = tightest(&mut system).map_err(|missing| missing.sentence)?;
    let allowed = machine.allowed().len() as f64;
    match found.limit.filter(|limit| limit.cpus < allowed) {
        Some(limit) => Ok(Some(CpuQuota { cpus: limit.cpus, folder: limit.folder })),
        None => found.unseen.map_or(Ok(None), |unseen| Err(unseen.sentence)),
    }
}
