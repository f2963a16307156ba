//! Which control groups a process is in, and where the kernel shows them.
//!
//! The list of a process's groups is in `cgroups(7)`; the two versions are in the kernel's
//! `Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst`.

mod mounts;

pub(crate) use mounts::{Mount, mounts};

use crate::{FileError, SystemFiles};

/// Control groups that weigh or limit the CPU time of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuControl {
    /// True if it is known that no control group weighs or limits its CPU time: it is in the root group.
    pub is_root: bool,
    /// The folders of its group of version 2, below the root of the file system, from its own up to
    /// what is mounted; or why there is none with a CPU controller, as the end of a sentence.
    pub folders: Result<Vec<String>, String>,
}

/// Reads what controls the CPU time of this process.
pub fn cpu_control(files: &mut impl SystemFiles) -> CpuControl {
    let mounts = mounts(files).unwrap_or_default();
    let groups = files.read("proc/self/cgroup").unwrap_or_default().to_owned();
    let (is_root, folders) = match OwnGroup::find(&mounts, &groups, "cpu") {
        OwnGroup::None => {
            (true, Err("it needs control groups of version 2, which are not mounted"))
        }
        OwnGroup::Hidden => {
            (false, Err("no mount shows the control group of this process as the kernel names it"))
        }
        OwnGroup::Shown(group) if group.mount.is_version_2() => {
            // Every group but the root has weights where the controller reaches it.
            let weight = |folder: &String| format!("{folder}/cpu.weight");
            let is_weighed = group.folders.iter().any(|it| files.read(&weight(it)).is_ok());
            (!is_weighed && group.reaches_root(files).unwrap_or(false), Ok(group.folders))
        }
        OwnGroup::Shown(group) => {
            let is_root = group.folders.len() == 1 && group.reaches_root(files).unwrap_or(false);
            let why = "it needs control groups of version 2, and here the CPU controller is one of version 1";
            (is_root, Err(why))
        }
    };
    CpuControl { is_root, folders: folders.map_err(str::to_owned) }
}

/// The control group of this process in the hierarchy of a controller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OwnGroup {
    /// No hierarchy has the controller.
    None,
    /// No mount shows the group.
    Hidden,
    /// It can be read.
    Shown(ShownGroup),
}

/// A control group that a mount shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownGroup {
    pub(crate) mount: Mount,
    /// Folder of the group and those of the groups above it, up to the mount point.
    pub(crate) folders: Vec<String>,
}

impl OwnGroup {
    /// From the text of `/proc/self/cgroup`: version 1 where it has the controller, else version 2.
    pub(crate) fn find(mounts: &[Mount], groups: &str, controller: &str) -> Self {
        let found = if let Some(group) = group_of(groups, Some(controller)) {
            ShownGroup::find(mounts, group, |mount| mount.is_version_1_of(controller))
        } else if let Some(group) = group_of(groups, None) {
            ShownGroup::find(mounts, group, Mount::is_version_2)
        } else {
            return Self::None;
        };
        found.map_or(Self::Hidden, Self::Shown)
    }
}

impl ShownGroup {
    /// The group by the mount, among those of its hierarchy, that shows most of the groups above it.
    pub(crate) fn find(
        mounts: &[Mount],
        group: &str,
        is_of_hierarchy: impl Fn(&Mount) -> bool,
    ) -> Option<Self> {
        let of_hierarchy = mounts.iter().filter(|mount| is_of_hierarchy(mount));
        let shown = of_hierarchy.filter_map(|mount| {
            Some(Self { folders: mount.folders(group)?, mount: mount.clone() })
        });
        shown.min_by_key(|shown| std::cmp::Reverse(shown.folders.len()))
    }

    /// True if the topmost folder is the root of the whole hierarchy: a namespace calls its own group `/`, too.
    ///
    /// # Errors
    /// If a file of the topmost group cannot be read.
    pub(crate) fn reaches_root(
        &self,
        files: &mut (impl SystemFiles + ?Sized),
    ) -> Result<bool, FileError> {
        if !self.mount.shows_root() {
            return Ok(false);
        }
        let mut has = |name: &str| match files.read(&format!("{}/{name}", self.mount.point)) {
            Ok(_) => Ok(true),
            Err(FileError::Missing) => Ok(false),
            Err(error) => Err(error),
        };
        if self.mount.is_version_2() {
            // Every group but the root has it.
            return Ok(!has("cgroup.events")?);
        }
        // The root group alone has them.
        Ok(has("cgroup.sane_behavior")? || has("release_agent")?)
    }
}

/// The group of a process, from lines such as `3:cpu,cpuacct:/jobs` and `0::/user.slice`: the one of
/// a controller of version 1, or without a controller that of version 2.
pub(crate) fn group_of<'a>(groups: &'a str, controller: Option<&str>) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let matches = match controller {
            Some(name) => controllers.split(',').any(|controller| controller == name),
            None => controllers.is_empty(),
        };
        matches.then_some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_each_version_is_found() {
        let groups = "4:cpuacct,cpuset:/jobs:7\n1:name=systemd:/\n0::/user.slice";
        assert_eq!(group_of(groups, Some("cpuset")), Some("/jobs:7"));
        assert_eq!(group_of(groups, Some("memory")), None);
        assert_eq!(group_of(groups, None), Some("/user.slice"));
        assert_eq!(group_of("nonsense", None), None);
    }
}
