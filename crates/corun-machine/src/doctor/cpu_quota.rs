//! The quota of CPU time as a number, for those that plan work by it: read as the check `quota` reads it.

use super::registry::quota::tightest;
use super::system::System;
use crate::{Machine, SystemFiles};

/// The tightest quota of this process, as a number of CPUs, and the folder of the control group that sets it.
///
/// # Errors
/// If a file that should say it is missing or odd; a sentence says which.
pub(crate) fn cpu_quota(
    files: &mut dyn SystemFiles,
    machine: &Machine,
) -> Result<Option<(f64, String)>, String> {
    let mut system = System::new(files, machine, None);
    let found = tightest(&mut system).map_err(|missing| missing.sentence)?;
    Ok(found.limit.map(|limit| (limit.cpus, limit.folder)))
}
