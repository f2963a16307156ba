//! The folders of the control groups that this process is in, from its own up to the root.
//!
//! The files are described in the kernel's `Documentation/admin-guide/cgroup-v1/cgroups.rst` and
//! `Documentation/admin-guide/cgroup-v2.rst`.

use super::check::CannotTell;
use super::system::System;

/// Where a controller can be looked up, below the root.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// Folders of version 1 that the controller is mounted on, the process's own first.
    One(Vec<String>),
    /// Folders of version 2, the process's own first.
    Two(Vec<String>),
    /// No controller of this name is in use.
    None,
}

/// Finds the folders for `controller`; a mount that cannot be seen cannot be told about.
pub(super) fn find(system: &mut System<'_>, controller: &str) -> Result<Groups, CannotTell> {
    let groups = system.read("proc/self/cgroup")?;
    let mounts = match system.find("proc/self/mountinfo")? {
        Some(mounts) => mounts,
        None => system.read("proc/mounts")?,
    };
    let from = if mounts.file.ends_with("mountinfo") { from_mountinfo } else { from_mounts };
    let mounts: Vec<Mount> = mounts.text.lines().filter_map(from).collect();
    if let Some(group) = group_of(&groups.text, Some(controller)) {
        let with_controller = |mount: &&Mount| {
            mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller)
        };
        if let Some(mount) = mounts.iter().find(with_controller) {
            return Ok(Groups::One(mount.folders(group)));
        }
    } else if let Some(group) = group_of(&groups.text, None) {
        if let Some(mount) = mounts.iter().find(|mount| mount.kind == "cgroup2") {
            return Ok(Groups::Two(mount.folders(group)));
        }
    } else {
        return Ok(Groups::None);
    }
    Err(CannotTell {
        sentence: "No mount shows the control group of this process.".into(),
        evidence: vec![groups],
    })
}

/// The group of this process, from lines such as `3:cpu,cpuacct:/jobs` and `0::/user.slice`.
fn group_of<'a>(groups: &'a str, controller: Option<&str>) -> Option<&'a str> {
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

/// A place where the kernel shows control groups.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    kind: String,
    options: String,
    /// The group that is shown at the mount point.
    root: String,
    /// The mount point, without the leading `/`.
    point: String,
}

impl Mount {
    /// The folder of `group` and those above it, as far as they are shown.
    fn folders(&self, group: &str) -> Vec<String> {
        let below = group.strip_prefix(self.root.trim_end_matches('/')).unwrap_or_default();
        let outside = !below.starts_with('/') || below.contains("/..");
        let mut below = if outside { "" } else { below.trim_end_matches('/') };
        let mut folders = vec![format!("{}{below}", self.point)];
        while let Some((above, _)) = below.rsplit_once('/') {
            folders.push(format!("{}{above}", self.point));
            below = above;
        }
        folders
    }
}

/// `34 31 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu`
fn from_mountinfo(line: &str) -> Option<Mount> {
    let (place, filesystem) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut filesystem = filesystem.split(' ');
    Some(mount(filesystem.next()?, filesystem.nth(1)?, root, point))
}

/// `cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0`
fn from_mounts(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').skip(1);
    let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
    Some(mount(kind, options, "/", point))
}

fn mount(kind: &str, options: &str, root: &str, point: &str) -> Mount {
    Mount {
        kind: kind.to_owned(),
        options: options.to_owned(),
        root: unescape(root),
        point: unescape(point).trim_start_matches('/').to_owned(),
    }
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
    fn folders_lead_from_the_own_group_to_what_the_mount_shows() {
        let shown = |root: &str| mount("cgroup2", "rw", root, "/cg");
        assert_eq!(shown("/").folders("/a/b"), ["cg/a/b", "cg/a", "cg"]);
        assert_eq!(shown("/").folders("/"), ["cg"]);
        assert_eq!(shown("/docker/7").folders("/docker/7/a"), ["cg/a", "cg"]);
        assert_eq!(shown("/docker/7").folders("/docker/77"), ["cg"]);
        assert_eq!(shown("/").folders("/../other"), ["cg"]);
    }

    #[test]
    fn groups_and_mounts_of_both_versions_are_found() {
        let groups = "4:cpuacct,cpu:/jobs:7\n1:name=systemd:/\n0::/user.slice";
        assert_eq!(group_of(groups, Some("cpu")), Some("/jobs:7"));
        assert_eq!(group_of(groups, Some("memory")), None);
        assert_eq!(group_of(groups, None), Some("/user.slice"));
        let line = r"34 31 0:31 / /sys/my\040cg rw shared:9 - cgroup cgroup rw,cpu";
        let found = mount("cgroup", "rw,cpu", "/", "/sys/my cg");
        assert_eq!(from_mountinfo(line), Some(found));
        let line = "none /sys/fs/cgroup cgroup2 rw 0 0";
        assert_eq!(from_mounts(line), Some(mount("cgroup2", "rw", "/", "/sys/fs/cgroup")));
    }
}
