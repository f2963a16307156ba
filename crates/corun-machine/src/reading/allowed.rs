//! Which CPUs and NUMA nodes this process may use: its affinity mask and the cpuset of its group.
//!
//! The files are described in the kernel's `Documentation/admin-guide/cgroup-v1/cpusets.rst` and
//! `Documentation/admin-guide/cgroup-v2.rst`.

use super::mounts::{CgroupVersion, mounts};
use super::source::Source;
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
    let mounts = mounts(source.files);
    let groups = source.text("proc/self/cgroup").unwrap_or_default().to_owned();
    // Captured trees often keep only this older file.
    let group = source.text("proc/self/cpuset").map(str::to_owned);
    let first = mounts.iter().filter(|mount| mount.version == CgroupVersion::One);
    let second = mounts.iter().filter(|mount| mount.version == CgroupVersion::Two);
    first.chain(second).find_map(|mount| {
        let group = group_of(&groups, mount.version).or(group.as_deref())?;
        match mount.version {
            // In version 1 the effective set differs from this one by offline CPUs at most.
            CgroupVersion::One => {
                let prefix = if mount.prefixed { "cpuset." } else { "" };
                let folder = mount.folder(group);
                at(source, &folder, &format!("{prefix}cpus"), &format!("{prefix}mems"))
            }
            CgroupVersion::Two => {
                let controllers = source.text(&format!("{}/cgroup.controllers", mount.point))?;
                if !controllers.split_whitespace().any(|controller| controller == "cpuset") {
                    return None;
                }
                nearest(source, &mount.point, &mount.folder(group))
            }
        }
    })
}

/// In version 2 a group without the controller has the set of its nearest ancestor that has it.
fn nearest<F: SystemFiles>(
    source: &mut Source<'_, F>,
    point: &str,
    folder: &str,
) -> Option<Cpuset> {
    let mut folder = folder;
    loop {
        let found = at(source, folder, "cpuset.cpus.effective", "cpuset.mems.effective");
        if found.is_some() || folder.len() <= point.len() {
            return found;
        }
        folder = folder.rsplit_once('/')?.0;
    }
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

/// The group of this process, from lines such as `3:cpuset:/jobs` and `0::/user.slice`.
fn group_of(groups: &str, version: CgroupVersion) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = match version {
            CgroupVersion::One => controllers.split(',').any(|controller| controller == "cpuset"),
            CgroupVersion::Two => number == "0" && controllers.is_empty(),
        };
        matches.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_each_version_is_found() {
        let groups = "4:cpuacct,cpuset:/jobs:7\n1:name=systemd:/\n0::/user.slice";
        assert_eq!(group_of(groups, CgroupVersion::One), Some("/jobs:7"));
        assert_eq!(group_of(groups, CgroupVersion::Two), Some("/user.slice"));
        assert_eq!(group_of("nonsense", CgroupVersion::Two), None);
    }
}
