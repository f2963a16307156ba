//! Which CPUs and NUMA nodes this process may use: its affinity mask and the cpuset of its group.
//!
//! The files are described in the kernel's `Documentation/admin-guide/cgroup-v1/cpusets.rst` and
//! `Documentation/admin-guide/cgroup-v2.rst`.

use super::source::Source;
use crate::control_groups::{self, Mount, ShownGroup, group_of};
use crate::machine::AllowedBy;
use crate::{CpuSet, Cpuset, FindingKind, SystemFiles};

/// File in which the kernel lists the mask of a process; offline CPUs stay in that list.
const STATUS: &str = "proc/self/status";

/// Reads both. Below a captured root the mask is that of the process that captured it.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>) -> AllowedBy {
    let affinity = source.files.affinity().or_else(|| listed_mask(source));
    AllowedBy { affinity, cpuset: cpuset(source) }
}

/// True if this process may run on `cpu`. The kernel keeps each mask inside the cpuset, so that a
/// known mask is the whole answer.
pub(super) fn allows(allowed: &AllowedBy, cpu: u32) -> bool {
    match (&allowed.affinity, &allowed.cpuset) {
        (Some(mask), _) => mask.contains(cpu),
        (None, Some(cpuset)) => cpuset.cpus.contains(cpu),
        (None, None) => true,
    }
}

/// A mask with CPUs outside the cpuset: one of the two was read in the wrong place.
pub(super) fn report_contradiction<F: SystemFiles>(
    source: &mut Source<'_, F>,
    allowed: &AllowedBy,
    online: &CpuSet,
) {
    let (Some(mask), Some(cpuset)) = (&allowed.affinity, &allowed.cpuset) else { return };
    let outside = mask.intersection(online).difference(&cpuset.cpus);
    if !outside.is_empty() {
        let what = format!(
            "this cpuset ({}) lacks CPUs of the affinity mask that the kernel grants ({mask}); the \
             mask is believed",
            cpuset.cpus
        );
        source.findings.add(FindingKind::ContradictoryAllowed, &cpuset.file, what, &outside);
    }
}

fn listed_mask<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<CpuSet> {
    let text = source.text(STATUS)?;
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    let set = CpuSet::from_list(list);
    set.map_err(|error| source.malformed(STATUS, &error.to_string(), &CpuSet::new())).ok()
}

fn cpuset<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<Cpuset> {
    let mounts = mounts(source);
    let groups = source.text("proc/self/cgroup").unwrap_or_default().to_owned();
    // Captured trees often keep only this older file.
    let group = source.text("proc/self/cpuset").map(str::to_owned);
    let of_version_1 = |mount: &Mount| mount.is_version_1_of("cpuset");
    if mounts.iter().any(of_version_1) {
        let group = group_of(&groups, Some("cpuset")).or(group.as_deref())?;
        let shown = ShownGroup::find(&mounts, group, of_version_1)?;
        // In version 1 the effective set differs from this one by offline CPUs at most.
        let [cpus, mems] = ["cpus", "mems"].map(|name| shown.mount.cpuset_file(name));
        return at(source, shown.folders.first()?, &cpus, &mems);
    }
    let group = group_of(&groups, None).or(group.as_deref())?;
    let shown = ShownGroup::find(&mounts, group, Mount::is_version_2)?;
    let controllers = source.text(&format!("{}/cgroup.controllers", shown.mount.point))?;
    if !controllers.split_whitespace().any(|controller| controller == "cpuset") {
        return None;
    }
    // A group without the controller has the set of its nearest ancestor that has it.
    let [cpus, mems] = ["cpuset.cpus.effective", "cpuset.mems.effective"];
    shown.folders.iter().find_map(|folder| at(source, folder, cpus, mems))
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
