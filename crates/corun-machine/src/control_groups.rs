//! Where the kernel shows control groups, and which of them a process is in.
//!
//! The forms of the tables are in `proc_pid_mountinfo(5)`, `fstab(5)` and `cgroups(7)`; the two
//! versions in the kernel's `Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst`.

use crate::{FileError, SystemFiles};

/// A place where the kernel shows control groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `cgroup`, `cgroup2`, or the older `cpuset`.
    kind: String,
    options: String,
    /// The group that is shown at the mount point.
    root: String,
    /// The mount point, without the leading `/`.
    pub(crate) point: String,
}

impl Mount {
    /// Whether a controller of version 1 is looked up here.
    pub(crate) fn is_version_1_of(&self, controller: &str) -> bool {
        match self.kind.as_str() {
            "cgroup" => self.has_option(controller),
            kind => kind == controller,
        }
    }

    /// Whether version 2 is looked up here.
    pub(crate) fn is_version_2(&self) -> bool {
        self.kind == "cgroup2"
    }

    /// The file of the cpuset controller called `name`: version 1 may leave the prefix out.
    pub(crate) fn cpuset_file(&self, name: &str) -> String {
        match self.kind == "cpuset" || self.has_option("noprefix") {
            true => name.to_owned(),
            false => format!("cpuset.{name}"),
        }
    }

    /// The folder of `group` and those above it up to the mount point; the mount point alone if the
    /// group lies outside of what is shown.
    pub(crate) fn folders(&self, group: &str) -> Vec<String> {
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

    /// The folder of `group`; `None` if it lies outside of what is shown.
    pub(crate) fn own_folder(&self, group: &str) -> Option<String> {
        let below = group.strip_prefix(self.root.trim_end_matches('/'))?;
        let is_shown = (below.is_empty() || below.starts_with('/')) && !below.contains("/..");
        is_shown.then(|| format!("{}{}", self.point, below.trim_end_matches('/')))
    }

    fn has_option(&self, wanted: &str) -> bool {
        self.options.split(',').any(|option| option == wanted)
    }
}

/// What controls the CPU time of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuControl {
    /// Whether no control group weighs or limits its CPU time: it is in the root group.
    pub is_root: bool,
    /// The folders of its group of version 2, below the root of the file system, from its own up to
    /// what is mounted; or why there is none with a CPU controller, as the end of a sentence.
    pub folders: Result<Vec<String>, String>,
}

/// Reads what controls the CPU time of this process.
pub fn cpu_control(files: &mut impl SystemFiles) -> CpuControl {
    let mounts = mounts(files).unwrap_or_default();
    let groups = files.read("proc/self/cgroup").unwrap_or_default().to_owned();
    if mounts.iter().any(|mount| mount.is_version_1_of("cpu")) {
        let is_root = group_of(&groups, Some("cpu")).is_none_or(|group| group == "/");
        let why =
            "it needs control groups of version 2, and here the CPU controller is one of version 1";
        return CpuControl { is_root, folders: Err(why.to_owned()) };
    }
    let Some(mount) = mounts.iter().find(|mount| mount.is_version_2()) else {
        let why = "it needs control groups of version 2, which are not mounted";
        return CpuControl { is_root: true, folders: Err(why.to_owned()) };
    };
    let folders = mount.folders(group_of(&groups, None).unwrap_or("/"));
    // Every group but the root has weights where the controller reaches it.
    let is_root = !folders.iter().any(|folder| files.read(&format!("{folder}/cpu.weight")).is_ok());
    CpuControl { is_root, folders: Ok(folders) }
}

/// The mounts that this process sees, those of other file systems left out.
///
/// # Errors
/// If the kernel's table cannot be read; which file that is comes with it.
pub(crate) fn mounts(
    files: &mut (impl SystemFiles + ?Sized),
) -> Result<Vec<Mount>, (&'static str, FileError)> {
    type Parser = fn(&str) -> Option<Mount>;
    const TABLES: [(&str, Parser); 2] =
        [("proc/self/mountinfo", from_mountinfo), ("proc/mounts", from_mounts)];
    let mut error = None;
    for (file, parse) in TABLES {
        match files.read(file) {
            Ok(text) => return Ok(text.lines().filter_map(parse).collect()),
            Err(FileError::Missing) => error = Some((file, FileError::Missing)),
            Err(other) => return Err((file, other)),
        }
    }
    error.map_or_else(|| Ok(Vec::new()), Err)
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

/// `34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset`
fn from_mountinfo(line: &str) -> Option<Mount> {
    let (place, filesystem) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut filesystem = filesystem.split(' ');
    mount(filesystem.next()?, filesystem.nth(1)?, root, point)
}

/// `cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0`
fn from_mounts(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').skip(1);
    let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
    mount(kind, options, "/", point)
}

fn mount(kind: &str, options: &str, root: &str, point: &str) -> Option<Mount> {
    ["cgroup", "cgroup2", "cpuset"].contains(&kind).then(|| Mount {
        kind: kind.to_owned(),
        options: options.to_owned(),
        root: unescape(root),
        point: unescape(point).trim_start_matches('/').to_owned(),
    })
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
        let line =
            r"34 31 0:31 /docker/7 /sys/fs/my\040cgroup rw shared:9 - cgroup cgroup rw,cpuset";
        let found = from_mountinfo(line).unwrap();
        assert_eq!(
            Some(&found),
            mount("cgroup", "rw,cpuset", "/docker/7", "/sys/fs/my cgroup").as_ref()
        );
        assert!(found.is_version_1_of("cpuset") && !found.is_version_1_of("cpu"));
        assert_eq!(found.cpuset_file("cpus"), "cpuset.cpus");
        for line in
            ["none /dev/cpuset cgroup rw,cpuset,noprefix 0 0", "none /dev/cpuset cpuset rw 0 0"]
        {
            let found = from_mounts(line).unwrap();
            assert!(found.is_version_1_of("cpuset"), "{line}");
            assert_eq!(found.cpuset_file("cpus"), "cpus", "{line}");
        }
        assert!(from_mounts("none /sys/fs/cgroup cgroup2 rw 0 0").unwrap().is_version_2());
        assert_eq!(from_mounts("sysfs /sys sysfs rw 0 0"), None);
        assert_eq!(from_mountinfo("34 31 0:31 / - cgroup cgroup rw,cpuset"), None);
        assert_eq!(from_mounts(""), None);
    }

    #[test]
    fn folders_lead_from_the_own_group_to_what_the_mount_shows() {
        let folders =
            |root: &str, group: &str| mount("cgroup2", "rw", root, "/cg").unwrap().folders(group);
        assert_eq!(folders("/", "/a/b"), ["cg/a/b", "cg/a", "cg"]);
        assert_eq!(folders("/", "/"), ["cg"]);
        assert_eq!(folders("/docker/7", "/docker/7/a"), ["cg/a", "cg"]);
        assert_eq!(folders("/docker/7", "/docker/7"), ["cg"]);
        assert_eq!(folders("/docker/7", "/docker/77"), ["cg"]);
        assert_eq!(folders("/", "/../other"), ["cg"]);
        let own = |root: &str, group: &str| {
            mount("cgroup2", "rw", root, "/cg").unwrap().own_folder(group)
        };
        assert_eq!(own("/", "/a/b").unwrap(), "cg/a/b");
        assert_eq!(own("/docker/7", "/docker/7").unwrap(), "cg");
        assert_eq!(own("/docker/7", "/docker/77"), None);
        assert_eq!(own("/", "/../other"), None);
    }

    #[test]
    fn the_group_of_each_version_is_found() {
        let groups = "4:cpuacct,cpuset:/jobs:7\n1:name=systemd:/\n0::/user.slice";
        assert_eq!(group_of(groups, Some("cpuset")), Some("/jobs:7"));
        assert_eq!(group_of(groups, Some("memory")), None);
        assert_eq!(group_of(groups, None), Some("/user.slice"));
        assert_eq!(group_of("nonsense", None), None);
    }
}
