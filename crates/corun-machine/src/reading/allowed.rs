//! Which CPUs and NUMA nodes this process may use: its affinity mask and the cpuset of its group.
//!
//! The files are described in the kernel's `Documentation/admin-guide/cgroup-v1/cpusets.rst` and
//! `Documentation/admin-guide/cgroup-v2.rst`.

use super::source::Source;
use crate::control_groups::{self, Mount, group_of};
use crate::machine::AllowedBy;
use crate::{Cpuset, SystemFiles};

/// Reads both.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>) -> AllowedBy {
    AllowedBy { affinity: source.files.affinity(), cpuset: cpuset(source) }
}

/// Whether neither forbids `cpu`.
pub(super) fn allows(allowed: &AllowedBy, cpu: u32) -> bool {
    let AllowedBy { affinity, cpuset } = allowed;
    affinity.as_ref().is_none_or(|mask| mask.contains(cpu))
        && cpuset.as_ref().is_none_or(|cpuset| cpuset.cpus.contains(cpu))
}

fn cpuset<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<Cpuset> {
    let mounts = mounts(source);
    let groups = source.text("proc/self/cgroup").unwrap_or_default().to_owned();
    // Captured trees often keep only this older file.
    let group = source.text("proc/self/cpuset").map(str::to_owned);
    let of_version_1 = mounts.iter().filter(|mount| mount.is_version_1_of("cpuset"));
    let first = of_version_1.into_iter().find_map(|mount| {
        let group = group_of(&groups, Some("cpuset")).or(group.as_deref())?;
        // In version 1 the effective set differs from this one by offline CPUs at most.
        let [cpus, mems] = ["cpus", "mems"].map(|name| mount.cpuset_file(name));
        at(source, &mount.folders(group)[0], &cpus, &mems)
    });
    first.or_else(|| {
        let mount = mounts.iter().find(|mount| mount.is_version_2())?;
        let group = group_of(&groups, None).or(group.as_deref())?;
        let controllers = source.text(&format!("{}/cgroup.controllers", mount.point))?;
        if !controllers.split_whitespace().any(|controller| controller == "cpuset") {
            return None;
        }
        // A group without the controller has the set of its nearest ancestor that has it.
        let effective = ["cpuset.cpus.effective", "cpuset.mems.effective"];
        mount
            .folders(group)
            .iter()
            .find_map(|folder| at(source, folder, effective[0], effective[1]))
    })
}

/// The mounts of control groups; a table that is there and cannot be read is a finding.
fn mounts<F: SystemFiles>(source: &mut Source<'_, F>) -> Vec<Mount> {
    control_groups::mounts(source.files).unwrap_or_else(|(file, _)| {
        let _ = source.text(file);
        Vec::new()
    })
}

fn at<F: SystemFiles>(
    source: &mut Source<'_, F>,
    folder: &str,
    cpus: &str,
    memory_nodes: &str,
) -> Option<Cpuset> {
    let file = format!("{folder}/{cpus}");
    let cpus = source.list(&file)?;
    Some(Cpuset { file, cpus, memory_nodes: source.list(&format!("{folder}/{memory_nodes}")) })
}
