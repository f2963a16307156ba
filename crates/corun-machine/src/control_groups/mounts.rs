//! The mounts of control groups that paths lead to, by the kernel's rules: a mount over another one, or over a folder
//! of it, hides what is below (`path_resolution(7)`).
//!
//! The forms of the two tables are in `proc_pid_mountinfo(5)` and `fstab(5)`.

use std::collections::HashSet;

use crate::{FileError, SystemFiles};

/// A place where the kernel shows control groups, and which a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `cgroup`, `cgroup2`, or the older `cpuset`.
    kind: String,
    options: String,
    /// The group that is shown at the mount point, as the namespace of control groups names it: above the namespace's
    /// own root it begins with `/..`.
    root: String,
    /// The mount point, without the leading `/`.
    pub(crate) point: String,
    /// Folders at which other mounts begin.
    covered: Vec<String>,
}

impl Mount {
    /// True if a controller of version 1 is looked up here.
    pub(crate) fn is_version_1_of(&self, controller: &str) -> bool {
        match self.kind.as_str() {
            "cgroup" => self.has_option(controller),
            kind => kind == controller,
        }
    }

    /// True if version 2 is looked up here.
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

    /// The folder of `group` and those above it up to the mount point; `None` where this mount does not show the
    /// group: it lies outside, its path is not known, or another mount covers it.
    pub(crate) fn folders(&self, group: &str) -> Option<Vec<String>> {
        let mut below = below(&self.root, group)?;
        let own = format!("{}{below}", self.point);
        if self.covered.iter().any(|covered| is_within(&own, covered)) {
            return None;
        }
        let mut folders = vec![own];
        while let Some((above, _)) = below.rsplit_once('/') {
            folders.push(format!("{}{above}", self.point));
            below = above;
        }
        Some(folders)
    }

    /// The folder of `group`; `None` where this mount does not show it.
    pub(crate) fn own_folder(&self, group: &str) -> Option<String> {
        self.folders(group).map(|mut folders| folders.swap_remove(0))
    }

    /// True if the group at the mount point is the root of this process's namespace of control groups.
    pub(super) fn shows_root(&self) -> bool {
        self.root == "/"
    }

    fn has_option(&self, wanted: &str) -> bool {
        self.options.split(',').any(|option| option == wanted)
    }
}

/// The path of `group` below `root`, empty or with a leading `/`.
///
/// Leading `..` say how far above the namespace's root a path begins. Between such a `root` and a group that has fewer
/// of them are groups whose names are not known.
fn below<'a>(root: &str, group: &'a str) -> Option<&'a str> {
    let below = group.strip_prefix(root.trim_end_matches('/'))?.trim_end_matches('/');
    let is_path = below.is_empty() || below.starts_with('/');
    (is_path && !below.split('/').any(|name| name == "..")).then_some(below)
}

/// True if a path is `folder` or lies below it; both without a leading `/`.
fn is_within(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder);
    folder.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// The mounts of control groups that paths lead to.
///
/// # Errors
/// If the kernel's table cannot be read; which file that is comes with it.
pub(crate) fn mounts(
    files: &mut (impl SystemFiles + ?Sized),
) -> Result<Vec<Mount>, (&'static str, FileError)> {
    type Parser = fn(&str) -> Option<Line>;
    const TABLES: [(&str, Parser); 2] =
        [("proc/self/mountinfo", from_mountinfo), ("proc/mounts", from_mounts)];
    let mut error = None;
    for (file, parse) in TABLES {
        match files.read(file) {
            Ok(text) => return Ok(reached(text.lines().filter_map(parse).collect())),
            Err(FileError::Missing) => error = Some((file, FileError::Missing)),
            Err(other) => return Err((file, other)),
        }
    }
    error.map_or_else(|| Ok(Vec::new()), Err)
}

/// A mount of any file system.
struct Line {
    /// Number of the mount and of the one that it is on; the older table has none.
    numbers: Option<(u32, u32)>,
    kind: String,
    options: String,
    root: String,
    point: String,
}

/// Of these mounts those of control groups that the path of their mount point leads to.
fn reached(lines: Vec<Line>) -> Vec<Mount> {
    let table =
        Table { numbers: lines.iter().filter_map(|it| Some(it.numbers?.0)).collect(), lines };
    let groups = (0..table.lines.len()).filter(|&at| {
        let line = &table.lines[at];
        ["cgroup", "cgroup2", "cpuset"].contains(&line.kind.as_str())
            && table.holder(&line.point) == Some(at)
    });
    groups
        .map(|at| {
            let Line { kind, options, root, point, .. } = &table.lines[at];
            Mount {
                kind: kind.clone(),
                options: options.clone(),
                root: root.clone(),
                point: point.clone(),
                covered: table.covered(at),
            }
        })
        .collect()
}

struct Table {
    lines: Vec<Line>,
    /// The numbers of all mounts.
    numbers: HashSet<u32>,
}

impl Table {
    /// The mount that a path ends in.
    ///
    /// From the root of the process the path enters one mount after the other. The mount that this root lies in is not
    /// in the table after a `chroot`.
    fn holder(&self, path: &str) -> Option<usize> {
        if self.lines.iter().all(|line| line.numbers.is_none()) {
            // Without numbers, a mount that was made later covers what was there.
            return self.lines.iter().rposition(|line| is_within(path, &line.point));
        }
        let mut holder = None;
        // A table may name a mount as its own parent.
        for _ in 0..self.lines.len() {
            let entered = self.lines.iter().enumerate().filter(|(_, line)| {
                // What is mounted over the root of a process does not hide it from this process.
                let is_over_root = holder.is_some() && line.point.is_empty();
                self.is_on(line, holder) && !is_over_root && is_within(path, &line.point)
            });
            let Some((next, _)) = entered.min_by_key(|(_, line)| line.point.len()) else { break };
            holder = Some(next);
        }
        holder
    }

    /// The folders below the mount at this index at which others begin.
    fn covered(&self, at: usize) -> Vec<String> {
        let mount = &self.lines[at];
        let above = self.lines.iter().enumerate().filter(|&(other, line)| match line.numbers {
            Some(_) => self.is_on(line, Some(at)),
            None => other > at && is_within(&line.point, &mount.point),
        });
        above.map(|(_, line)| line.point.clone()).collect()
    }

    /// True if a mount is on the one at this index; without an index, on one that the table does not list.
    fn is_on(&self, line: &Line, mount: Option<usize>) -> bool {
        let Some((number, parent)) = line.numbers else { return false };
        let is_listed = parent != number && self.numbers.contains(&parent);
        match mount {
            Some(at) => {
                is_listed && self.lines[at].numbers.is_some_and(|(number, _)| number == parent)
            }
            None => !is_listed,
        }
    }
}

/// `34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset`
fn from_mountinfo(line: &str) -> Option<Line> {
    let (place, filesystem) = line.split_once(" - ")?;
    let mut place = place.split(' ');
    let numbers = (place.next()?.parse().ok()?, place.next()?.parse().ok()?);
    let mut place = place.skip(1);
    let (root, point) = (place.next()?, place.next()?);
    let mut filesystem = filesystem.split(' ');
    let (kind, options) = (filesystem.next()?, filesystem.nth(1)?);
    Some(Line::new(Some(numbers), kind, options, root, point))
}

/// `cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0`
fn from_mounts(line: &str) -> Option<Line> {
    let mut words = line.split(' ').skip(1);
    let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
    Some(Line::new(None, kind, options, "/", point))
}

impl Line {
    fn new(
        numbers: Option<(u32, u32)>,
        kind: &str,
        options: &str,
        root: &str,
        point: &str,
    ) -> Self {
        Self {
            numbers,
            kind: kind.to_owned(),
            options: options.to_owned(),
            root: unescape(root),
            point: unescape(point).trim_matches('/').to_owned(),
        }
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

    fn of_mountinfo(table: &str) -> Vec<Mount> {
        reached(table.lines().filter_map(from_mountinfo).collect())
    }

    fn of_mounts(table: &str) -> Vec<Mount> {
        reached(table.lines().filter_map(from_mounts).collect())
    }

    #[test]
    fn mounts_of_both_versions_are_found_in_both_tables() {
        let line =
            r"34 31 0:31 /docker/7 /sys/fs/my\040cgroup rw shared:9 - cgroup cgroup rw,cpuset";
        let found = &of_mountinfo(line)[0];
        assert_eq!((&*found.root, &*found.point), ("/docker/7", "sys/fs/my cgroup"));
        assert!(found.is_version_1_of("cpuset") && !found.is_version_1_of("cpu"));
        assert_eq!(found.cpuset_file("cpus"), "cpuset.cpus");
        for line in
            ["none /dev/cpuset cgroup rw,cpuset,noprefix 0 0", "none /dev/cpuset cpuset rw 0 0"]
        {
            let found = &of_mounts(line)[0];
            assert!(found.is_version_1_of("cpuset"), "{line}");
            assert_eq!(found.cpuset_file("cpus"), "cpus", "{line}");
        }
        assert!(of_mounts("none /sys/fs/cgroup cgroup2 rw 0 0")[0].is_version_2());
        assert_eq!(of_mounts("sysfs /sys sysfs rw 0 0"), []);
        assert_eq!(of_mountinfo("34 31 0:31 / - cgroup cgroup rw,cpuset"), []);
        assert_eq!(of_mounts(""), []);
    }

    fn folders(root: &str, group: &str) -> Vec<String> {
        let mounts = of_mountinfo(&format!("34 31 0:31 {root} /cg rw - cgroup2 cgroup2 rw"));
        mounts[0].folders(group).unwrap_or_default()
    }

    #[test]
    fn folders_lead_from_the_own_group_to_what_the_mount_shows() {
        assert_eq!(folders("/", "/a/b"), ["cg/a/b", "cg/a", "cg"]);
        assert_eq!(folders("/", "/"), ["cg"]);
        assert_eq!(folders("/docker/7", "/docker/7/a"), ["cg/a", "cg"]);
        assert_eq!(folders("/docker/7", "/docker/7"), ["cg"]);
        assert_eq!(folders("/..", "/../other"), ["cg/other", "cg"]);
        for name in ["..a", "...", ".b", "a..", "..:c"] {
            assert_eq!(folders("/", &format!("/{name}")), [format!("cg/{name}"), "cg".to_owned()]);
        }
    }

    #[test]
    fn a_group_outside_of_what_is_shown_has_no_folder() {
        let none: [String; 0] = [];
        for (root, group) in [
            ("/docker/7", "/docker/77"),
            ("/docker/7", "/"),
            ("/", "/../other"),
            ("/", "/a/../b"),
            // A mount that was made before the namespace shows groups above the namespace's root.
            ("/../..", "/"),
            ("/../..", "/a"),
            ("/../..", "/../a"),
            ("/../../x", "/a"),
        ] {
            assert_eq!(folders(root, group), none, "{root} {group}");
        }
    }

    const TMPFS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw";
    const CPU: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";

    fn numbers(table: &[&str]) -> Vec<(String, Option<Vec<String>>)> {
        let mounts = of_mountinfo(&table.join("\n"));
        mounts.into_iter().map(|it| (it.point.clone(), it.folders("/jobs/7"))).collect()
    }

    #[test]
    fn a_mount_over_another_one_hides_it() {
        assert_eq!(numbers(&[TMPFS, CPU]).len(), 1);
        // At the same folder, at one above, and at the root of the system's files.
        for over in [
            "50 32 0:40 / /sys/fs/cgroup/cpu rw - tmpfs tmpfs rw",
            "50 31 0:40 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
            "50 23 0:40 / /sys rw - sysfs sysfs rw",
        ] {
            assert_eq!(numbers(&[TMPFS, CPU, over]), [], "{over}");
        }
        // Of a stack of mounts of one kind the upper one is reached.
        let upper = "50 32 0:40 /jobs /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let found = numbers(&[TMPFS, CPU, upper]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1.as_ref().unwrap(), &["sys/fs/cgroup/cpu/7", "sys/fs/cgroup/cpu"]);
    }

    #[test]
    fn a_mount_over_a_folder_hides_the_groups_there() {
        let over = "50 32 0:40 / /sys/fs/cgroup/cpu/jobs rw - tmpfs tmpfs rw";
        assert_eq!(numbers(&[TMPFS, CPU, over])[0].1, None);
        let beside = "50 32 0:40 / /sys/fs/cgroup/cpu/job rw - tmpfs tmpfs rw";
        assert!(numbers(&[TMPFS, CPU, beside])[0].1.is_some());
    }

    #[test]
    fn what_is_mounted_elsewhere_hides_nothing() {
        let root = "23 1 254:0 / / rw - ext4 /dev/vda rw";
        let over_root = "50 23 0:40 / / rw - tmpfs tmpfs rw";
        assert_eq!(numbers(&[root, TMPFS, CPU, over_root]).len(), 1);
        let beside = "50 31 0:40 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset";
        assert_eq!(numbers(&[TMPFS, CPU, beside]).len(), 2);
    }

    #[test]
    fn in_the_older_table_the_later_mount_hides_the_earlier() {
        let group = "cgroup /cg cgroup2 rw 0 0";
        let folders = |table: &str| of_mounts(table).first().and_then(|it| it.folders("/a"));
        assert!(folders(&format!("/dev/vda / ext4 rw 0 0\n{group}")).is_some());
        assert_eq!(folders(&format!("{group}\ntmpfs /cg tmpfs rw 0 0")), None);
        assert_eq!(folders(&format!("{group}\ntmpfs /cg/a tmpfs rw 0 0")), None);
    }

    #[test]
    fn tables_that_lead_in_circles_are_read_to_their_end() {
        let circle = [
            "5 4 0:1 / /cg rw - cgroup2 cgroup2 rw",
            "5 6 0:1 / /cg rw - cgroup2 cgroup2 rw",
            "6 5 0:1 / /cg rw - cgroup2 cgroup2 rw",
            "7 7 0:1 / /other rw - cgroup2 cgroup2 rw",
        ];
        assert!(numbers(&circle).len() <= 2);
    }
}
