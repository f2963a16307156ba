//! Place at which control groups for commands can be made: below corun's own group, in a hierarchy
//! in which a group of their own changes nothing about how processes are scheduled or what they may
//! use.
//!
//! The forms of the files are in the kernel's `Documentation/admin-guide/cgroup-v2.rst` and
//! `cgroup-v1/cgroups.rst`.

use crate::SystemFiles;
use crate::control_groups::{self, Mount, group_of};

/// Hierarchies of version 1 that only keep count of processes, the first one first that is usable.
/// Groups of the last one are systemd's own.
const FIRST_VERSION: [&str; 3] = ["freezer", "pids", "name=systemd"];

/// Finds the folder of corun's own group, below the root and without a leading `/`: one of which
/// `is_member` says that it lists corun, as namespaces and mounts of parts may say otherwise than
/// `/proc/self/cgroup`.
pub(super) fn find(
    files: &mut impl SystemFiles,
    mut is_member: impl FnMut(&str) -> bool,
) -> Option<String> {
    let mounts = control_groups::mounts(files).ok()?;
    let groups = files.read("proc/self/cgroup").ok()?.to_owned();
    let second = mounts.iter().filter(|mount| mount.is_version_2()).filter_map(|mount| {
        let folder = mount.own_folder(group_of(&groups, None)?)?;
        has_no_effect(files, &folder).then_some(folder)
    });
    let mut candidates: Vec<String> = second.collect();
    for hierarchy in FIRST_VERSION {
        candidates.extend(mounts.iter().filter_map(|mount| first(mount, &groups, hierarchy)));
    }
    candidates.into_iter().find(|folder| is_member(folder))
}

/// True if a group of version 2 passes no controller on: where it does (in the root group, for
/// example), a group below would share CPU time with others in another way.
fn has_no_effect(files: &mut impl SystemFiles, folder: &str) -> bool {
    let passed_on = files.read(&format!("{folder}/cgroup.subtree_control"));
    let is_without = passed_on.is_ok_and(|controllers| controllers.trim().is_empty());
    // The root group has no type. Groups below a threaded one hold threads, not processes.
    let kind = files.read(&format!("{folder}/cgroup.type")).unwrap_or("domain");
    is_without && kind.trim() == "domain"
}

/// The own group in a hierarchy of version 1 that has this controller or name and no other.
fn first(mount: &Mount, groups: &str, hierarchy: &str) -> Option<String> {
    let is_alone =
        groups.lines().any(|line| line.split(':').nth(1).is_some_and(|names| names == hierarchy));
    if !is_alone || mount.is_version_2() || !mount.is_version_1_of(hierarchy) {
        return None;
    }
    mount.own_folder(group_of(groups, Some(hierarchy))?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::FileError;

    struct Tree(BTreeMap<String, String>);

    impl SystemFiles for Tree {
        fn read(&mut self, path: &str) -> Result<&str, FileError> {
            self.0.get(path).map(String::as_str).ok_or(FileError::Missing)
        }

        fn list(&mut self, _: &str) -> Vec<String> {
            Vec::new()
        }
    }

    const SECOND: &str = "40 30 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const UNIFIED: &str = "41 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const PIDS: &str = "42 30 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
    const SYSTEMD: &str =
        "43 30 0:34 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
    const WITH_CPU: &str = "44 30 0:35 / /sys/fs/cgroup/cpu,pids rw - cgroup cgroup rw,cpu,pids\n";

    /// The folder that process 7 makes groups in.
    fn found(mounts: &[&str], groups: &str, files: &[(&str, &str)]) -> Option<String> {
        let mut tree: BTreeMap<String, String> = files
            .iter()
            .map(|(path, text)| (format!("sys/fs/cgroup/{path}"), (*text).into()))
            .collect();
        tree.insert("proc/self/mountinfo".into(), mounts.concat());
        tree.insert("proc/self/cgroup".into(), groups.into());
        let lists = tree.clone();
        let is_member = |folder: &str| {
            let list = lists.get(&format!("{folder}/cgroup.procs"));
            list.is_some_and(|list| list.lines().any(|line| line == "7"))
        };
        find(&mut Tree(tree), is_member)
    }

    #[test]
    fn the_own_group_of_version_2_comes_first() {
        let files = [
            ("user/a/cgroup.procs", "3\n7\n"),
            ("user/a/cgroup.subtree_control", "\n"),
            ("user/a/cgroup.type", "domain\n"),
        ];
        assert_eq!(found(&[SECOND], "0::/user/a", &files).unwrap(), "sys/fs/cgroup/user/a");
        let files = [
            ("unified/cgroup.procs", "7\n"),
            ("unified/cgroup.subtree_control", ""),
            ("pids/cgroup.procs", "7\n"),
        ];
        let groups = "3:pids:/\n0::/";
        assert_eq!(found(&[PIDS, UNIFIED], groups, &files).unwrap(), "sys/fs/cgroup/unified");
    }

    #[test]
    fn a_group_that_would_change_something_is_not_used() {
        let with = |control: &str, kind: &str| {
            let files = [
                ("cgroup.procs", "7\n"),
                ("cgroup.subtree_control", control),
                ("cgroup.type", kind),
            ];
            found(&[SECOND], "0::/", &files)
        };
        assert!(with("", "domain").is_some());
        assert_eq!(with("cpuset cpu pids\n", "domain"), None);
        assert_eq!(with("", "threaded\n"), None);
        assert_eq!(with("", "domain threaded\n"), None);
    }

    #[test]
    fn version_1_serves_where_a_hierarchy_only_counts() {
        let files = [("pids/job/cgroup.procs", "7\n"), ("systemd/x/cgroup.procs", "7\n")];
        let groups = "4:pids:/job\n1:name=systemd:/x";
        assert_eq!(found(&[SYSTEMD, PIDS], groups, &files).unwrap(), "sys/fs/cgroup/pids/job");
        assert_eq!(found(&[SYSTEMD], groups, &files).unwrap(), "sys/fs/cgroup/systemd/x");
        let files = [("cpu,pids/job/cgroup.procs", "7\n")];
        assert_eq!(found(&[WITH_CPU], "4:cpu,pids:/job", &files), None);
    }

    #[test]
    fn a_group_that_does_not_list_the_process_is_another_one() {
        let files = [("cgroup.procs", "3\n77\n"), ("cgroup.subtree_control", "")];
        assert_eq!(found(&[SECOND], "0::/", &files), None);
        let files = [("cgroup.procs", "7\n"), ("cgroup.subtree_control", "")];
        assert_eq!(found(&[SECOND], "0::/../other", &files), None);
        assert_eq!(found(&[], "", &[]), None);
    }
}
