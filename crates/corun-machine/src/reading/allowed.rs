//! Which CPUs and NUMA nodes this process may use: its affinity mask and the cpuset of its group.
//!
//! The files are described in the kernel's `Documentation/admin-guide/cgroup-v1/cpusets.rst` and
//! `Documentation/admin-guide/cgroup-v2.rst`.

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
    let mounts = mounts(source);
    let groups = source.text("proc/self/cgroup").unwrap_or_default().to_owned();
    // Captured trees often keep only this older file.
    let group = source.text("proc/self/cpuset").map(str::to_owned);
    let first = mounts.iter().filter(|mount| mount.version == Version::One);
    let second = mounts.iter().filter(|mount| mount.version == Version::Two);
    first.chain(second).find_map(|mount| {
        let group = group_of(&groups, mount.version).or(group.as_deref())?;
        match mount.version {
            // In version 1 the effective set differs from this one by offline CPUs at most.
            Version::One => {
                let prefix = if mount.prefixed { "cpuset." } else { "" };
                let folder = mount.folder(group);
                at(source, &folder, &format!("{prefix}cpus"), &format!("{prefix}mems"))
            }
            Version::Two => {
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

/// The version of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A place where the kernel shows control groups that may have cpusets.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// Whether version 1 puts `cpuset.` before its file names.
    prefixed: bool,
    /// The group that is shown at the mount point.
    root: String,
    /// The mount point, without the leading `/`.
    point: String,
}

impl Mount {
    /// The folder of `group`, or the mount point if the group lies outside of what is shown.
    fn folder(&self, group: &str) -> String {
        let below = group.strip_prefix(self.root.trim_end_matches('/'));
        match below.map(|below| below.trim_end_matches('/')) {
            Some(below) if below.starts_with('/') && !below.contains("/..") => {
                format!("{}{below}", self.point)
            }
            _ => self.point.clone(),
        }
    }
}

fn mounts<F: SystemFiles>(source: &mut Source<'_, F>) -> Vec<Mount> {
    if let Some(text) = source.text("proc/self/mountinfo") {
        return text.lines().filter_map(from_mountinfo).collect();
    }
    let text = source.text("proc/mounts").unwrap_or_default();
    text.lines().filter_map(from_mounts).collect()
}

/// `34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset`
fn from_mountinfo(line: &str) -> Option<Mount> {
    let (place, filesystem) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut filesystem = filesystem.split(' ');
    let (kind, options) = (filesystem.next()?, filesystem.nth(1)?);
    mount(kind, options, root, point)
}

/// `cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0`
fn from_mounts(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').skip(1);
    let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
    mount(kind, options, "/", point)
}

fn mount(kind: &str, options: &str, root: &str, point: &str) -> Option<Mount> {
    let has = |wanted: &str| options.split(',').any(|option| option == wanted);
    let (version, prefixed) = match kind {
        "cgroup2" => (Version::Two, true),
        "cgroup" if has("cpuset") => (Version::One, !has("noprefix")),
        "cpuset" => (Version::One, false),
        _ => return None,
    };
    let point = unescape(point).trim_start_matches('/').to_owned();
    Some(Mount { version, prefixed, root: unescape(root), point })
}

/// Undoes the octal escapes of white space and backslashes in mount tables.
fn unescape(path: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(path.to_owned(), |path, (from, to)| path.replace(from, to))
}

/// The group of this process, from lines such as `3:cpuset:/jobs` and `0::/user.slice`.
fn group_of(groups: &str, version: Version) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = match version {
            Version::One => controllers.split(',').any(|controller| controller == "cpuset"),
            Version::Two => number == "0" && controllers.is_empty(),
        };
        matches.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_both_versions_are_found_in_both_tables() {
        let wanted = Mount {
            version: Version::One,
            prefixed: true,
            root: "/docker/7".to_owned(),
            point: "sys/fs/my cgroup".to_owned(),
        };
        let line =
            r"34 31 0:31 /docker/7 /sys/fs/my\040cgroup rw shared:9 - cgroup cgroup rw,cpuset";
        assert_eq!(from_mountinfo(line), Some(wanted));
        let noprefix = from_mounts("none /dev/cpuset cgroup rw,cpuset,noprefix 0 0");
        assert!(noprefix.is_some_and(|mount| !mount.prefixed));
        let unified = from_mounts("none /sys/fs/cgroup cgroup2 rw 0 0");
        assert!(unified.is_some_and(|mount| mount.version == Version::Two));
        assert_eq!(from_mounts("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0"), None);
        assert_eq!(from_mountinfo("34 31 0:31 / - cgroup cgroup rw,cpuset"), None);
        assert_eq!(from_mounts(""), None);
    }

    #[test]
    fn a_group_is_looked_up_below_what_the_mount_shows() {
        let mount = |root: &str| Mount {
            version: Version::Two,
            prefixed: true,
            root: root.to_owned(),
            point: "cg".to_owned(),
        };
        assert_eq!(mount("/").folder("/"), "cg");
        assert_eq!(mount("/").folder("/a/b"), "cg/a/b");
        assert_eq!(mount("/docker/7").folder("/docker/7/a"), "cg/a");
        assert_eq!(mount("/docker/7").folder("/docker/7"), "cg");
        assert_eq!(mount("/docker/7").folder("/docker/77"), "cg");
        assert_eq!(mount("/").folder("/../other"), "cg");
    }

    #[test]
    fn the_group_of_each_version_is_found() {
        let groups = "4:cpuacct,cpuset:/jobs:7\n1:name=systemd:/\n0::/user.slice";
        assert_eq!(group_of(groups, Version::One), Some("/jobs:7"));
        assert_eq!(group_of(groups, Version::Two), Some("/user.slice"));
        assert_eq!(group_of("nonsense", Version::Two), None);
    }
}
