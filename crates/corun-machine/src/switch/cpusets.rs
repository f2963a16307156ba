//! Cpusets of version 1: the kernel takes offline CPUs out of them and never puts them back, and
//! moves the tasks of a set that became empty to its parent.
//!
//! `Documentation/admin-guide/cgroup-v1/cpusets.rst`; version 2 keeps what was asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::system::text;
use super::tasks;
use crate::control_groups::mounts;
use crate::{CpuSet, SystemFiles};

/// A cpuset of version 1 below the root one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpusetMembers {
    /// Folder, below the root of the file system.
    pub folder: String,
    /// The name of the file that lists its CPUs.
    pub cpus_file: String,
    /// CPUs of the cpuset.
    pub cpus: CpuSet,
    /// Tasks, and when each of them started.
    pub tasks: BTreeMap<u32, u64>,
}

impl CpusetMembers {
    /// The file that lists its CPUs.
    pub(super) fn cpus_path(&self) -> String {
        format!("{}/{}", self.folder, self.cpus_file)
    }

    /// The file that lists its tasks, and takes new ones.
    pub(super) fn tasks_path(&self) -> String {
        format!("{}/tasks", self.folder)
    }
}

/// Every cpuset of version 1 but the root one, parents before children.
pub(super) fn of_version_1(files: &mut impl SystemFiles) -> Vec<CpusetMembers> {
    let mut found: Vec<CpusetMembers> = Vec::new();
    for mount in mounts(files).unwrap_or_default() {
        let is_known = |set: &CpusetMembers| set.folder.starts_with(&format!("{}/", mount.point));
        if mount.is_version_1_of("cpuset") && !found.iter().any(is_known) {
            below(files, &mount.point, &mount.cpuset_file("cpus"), &mut found);
        }
    }
    found
}

/// Those of `sets` that have CPUs among `siblings`.
pub(super) fn that_name<'a>(
    sets: &'a [CpusetMembers],
    siblings: &CpuSet,
) -> Vec<&'a CpusetMembers> {
    sets.iter().filter(|set| !set.cpus.is_disjoint(siblings)).collect()
}

/// The CPUs of a set now; `None` if it is gone.
pub(super) fn cpus_of(files: &mut impl SystemFiles, set: &CpusetMembers) -> Option<CpuSet> {
    // An empty set has an empty text.
    CpuSet::from_list(files.read(&set.cpus_path()).ok()?).ok()
}

/// The tasks that were in the set, still run, and are in it no more.
pub(super) fn moved_out(files: &mut impl SystemFiles, set: &CpusetMembers) -> Vec<u32> {
    if set.tasks.is_empty() {
        return Vec::new();
    }
    let now = members(files, set);
    let gone = set.tasks.iter().filter(|(task, _)| !now.contains(task));
    let still_run =
        gone.filter(|(task, started)| tasks::is_alive(files, **task, **task, **started));
    still_run.map(|(task, _)| *task).collect()
}

fn below(
    files: &mut impl SystemFiles,
    folder: &str,
    cpus_file: &str,
    found: &mut Vec<CpusetMembers>,
) {
    let mut names = files.list(folder);
    names.sort_unstable();
    for name in names {
        let folder = format!("{folder}/{name}");
        let Ok(list) = files.read(&format!("{folder}/{cpus_file}")) else { continue };
        let Ok(cpus) = CpuSet::from_list(list) else { continue };
        let mut set = CpusetMembers {
            folder: folder.clone(),
            cpus_file: cpus_file.to_owned(),
            cpus,
            tasks: BTreeMap::new(),
        };
        let tasks = members(files, &set);
        set.tasks = tasks::starts(files, &tasks);
        found.push(set);
        below(files, &folder, cpus_file, found);
    }
}

fn members(files: &mut impl SystemFiles, set: &CpusetMembers) -> Vec<u32> {
    let text = text(files, &set.tasks_path()).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}
