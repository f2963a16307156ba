//! Deaths of processes for lack of memory: such a death looks like any other by SIGKILL, and the kernel's
//! log is for root alone. The kernel counts them, in the control group and on the whole machine (its
//! documentation, admin-guide/cgroup-v2.rst, `memory.events`; `oom_kill` in /proc/vmstat).

use std::path::Path;
use std::sync::OnceLock;

use crate::control_groups::{OwnGroup, ShownGroup, mounts};
use crate::{RootFiles, SystemFiles};

/// Number of processes that were ended for lack of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemoryDeaths {
    /// In the control group of this process, if that is known.
    group: Option<u64>,
    /// On the machine, if that is known.
    machine: Option<u64>,
}

static BEGIN: OnceLock<MemoryDeaths> = OnceLock::new();

/// Counts from now on.
pub fn count_memory_deaths() {
    if let Ok(mut files) = RootFiles::open(Path::new("/")) {
        BEGIN.get_or_init(|| MemoryDeaths::read(&mut files));
    }
}

/// The clause, to follow a comma, on a process of this one that ended by `signal`: nothing unless the kernel has
/// ended some process for lack of memory since [`count_memory_deaths`].
pub fn memory_death(signal: i32) -> Option<&'static str> {
    let begin = BEGIN.get().filter(|_| signal == libc::SIGKILL)?;
    MemoryDeaths::read(&mut RootFiles::open(Path::new("/")).ok()?).since(begin)
}

impl MemoryDeaths {
    fn read(files: &mut impl SystemFiles) -> Self {
        let groups = files.read("proc/self/cgroup").map(str::to_owned).unwrap_or_default();
        let mounts = mounts(files).unwrap_or_default();
        let group = match OwnGroup::find(&mounts, &groups, "memory") {
            OwnGroup::Shown(ShownGroup { mount, folders }) => {
                let file =
                    if mount.is_version_2() { "memory.events" } else { "memory.oom_control" };
                folders.first().and_then(|own| counted(files.read(&format!("{own}/{file}")).ok()?))
            }
            OwnGroup::None | OwnGroup::Hidden => None,
        };
        let machine = files.read("proc/vmstat").ok().and_then(counted);
        Self { group, machine }
    }

    fn since(&self, begin: &Self) -> Option<&'static str> {
        let rose =
            |now: Option<u64>, begin: Option<u64>| now.zip(begin).is_some_and(|(a, b)| a > b);
        if rose(self.group, begin.group) {
            Some(
                "the kernel ended a process of this control group for lack of memory: raise the group's limit, or use less",
            )
        } else if rose(self.machine, begin.machine) && self.group.is_none() {
            Some("the kernel ended a process of this machine for lack of memory: use less")
        } else {
            None
        }
    }
}

fn counted(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::FileError;

    struct Tree(HashMap<&'static str, String>);

    impl SystemFiles for Tree {
        fn read(&mut self, path: &str) -> Result<&str, FileError> {
            self.0.get(path).map(String::as_str).ok_or(FileError::Missing)
        }

        fn list(&mut self, _: &str) -> Vec<String> {
            Vec::new()
        }
    }

    fn deaths(files: &[(&'static str, &str)]) -> MemoryDeaths {
        MemoryDeaths::read(&mut Tree(files.iter().map(|(a, b)| (*a, (*b).to_owned())).collect()))
    }

    #[test]
    fn deaths_are_counted_where_the_kernel_counts_them() {
        let second = [
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("proc/self/cgroup", "0::/user/corun"),
            (
                "sys/fs/cgroup/user/corun/memory.events",
                "low 0\noom 2\noom_kill 1\noom_group_kill 0",
            ),
            ("proc/vmstat", "nr_free 1\noom_kill 7"),
        ];
        assert_eq!(deaths(&second), MemoryDeaths { group: Some(1), machine: Some(7) });
        let first = [
            (
                "proc/self/mountinfo",
                "34 31 0:31 /docker/12 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
            ),
            ("proc/self/cgroup", "3:cpu:/x\n5:memory,hugetlb:/docker/12\n0::/"),
            ("sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 3"),
        ];
        assert_eq!(deaths(&first), MemoryDeaths { group: Some(3), machine: None });
        assert_eq!(deaths(&[]), MemoryDeaths { group: None, machine: None });
    }

    #[test]
    fn only_what_was_counted_meanwhile_is_reported() {
        let of = |group, machine| MemoryDeaths { group, machine };
        let said = |now: MemoryDeaths, begin| now.since(&begin).unwrap_or("nothing");
        assert!(said(of(Some(2), Some(9)), of(Some(1), Some(8))).contains("control group"));
        assert!(said(of(None, Some(9)), of(None, Some(8))).contains("this machine"));
        // Somebody else's, in another group.
        assert_eq!(said(of(Some(1), Some(9)), of(Some(1), Some(8))), "nothing");
        assert_eq!(said(of(None, None), of(None, None)), "nothing");
    }
}
