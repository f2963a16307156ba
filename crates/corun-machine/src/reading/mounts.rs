//! Where the kernel shows control groups that may have cpusets, from its tables of mounts.
//!
//! The forms of the tables are in `proc_pid_mountinfo(5)` and `fstab(5)`.

use crate::SystemFiles;

/// The version of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    One,
    Two,
}

/// A place where the kernel shows control groups that may have cpusets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) version: CgroupVersion,
    /// Whether version 1 puts `cpuset.` before its file names.
    pub(crate) prefixed: bool,
    /// The group that is shown at the mount point.
    pub(crate) root: String,
    /// The mount point, without the leading `/`.
    pub(crate) point: String,
}

impl Mount {
    /// The folder of `group`, or the mount point if the group lies outside of what is shown.
    pub(crate) fn folder(&self, group: &str) -> String {
        let below = group.strip_prefix(self.root.trim_end_matches('/'));
        match below.map(|below| below.trim_end_matches('/')) {
            Some(below) if below.starts_with('/') && !below.contains("/..") => {
                format!("{}{below}", self.point)
            }
            _ => self.point.clone(),
        }
    }
}

/// The mounts that this process sees.
pub(crate) fn mounts(files: &mut impl SystemFiles) -> Vec<Mount> {
    if let Ok(text) = files.read("proc/self/mountinfo") {
        return text.lines().filter_map(from_mountinfo).collect();
    }
    let text = files.read("proc/mounts").unwrap_or_default();
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
        "cgroup2" => (CgroupVersion::Two, true),
        "cgroup" if has("cpuset") => (CgroupVersion::One, !has("noprefix")),
        "cpuset" => (CgroupVersion::One, false),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_both_versions_are_found_in_both_tables() {
        let wanted = Mount {
            version: CgroupVersion::One,
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
        assert!(unified.is_some_and(|mount| mount.version == CgroupVersion::Two));
        assert_eq!(from_mounts("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0"), None);
        assert_eq!(from_mountinfo("34 31 0:31 / - cgroup cgroup rw,cpuset"), None);
        assert_eq!(from_mounts(""), None);
    }

    #[test]
    fn a_group_is_looked_up_below_what_the_mount_shows() {
        let mount = |root: &str| Mount {
            version: CgroupVersion::Two,
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
}
