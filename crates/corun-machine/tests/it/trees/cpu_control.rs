//! What controls the CPU time of a process: the root group, or one of either version.

use corun_machine::{CpuControl, RootFiles, cpu_control};

use crate::trees::builder::Tree;

const VERSION_TWO: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";

fn control(tree: &Tree) -> CpuControl {
    cpu_control(&mut RootFiles::open(tree.root()).unwrap())
}

#[test]
fn without_groups_there_is_only_the_root() {
    let control = control(&Tree::empty());
    assert!(control.is_root);
    assert!(control.folders.unwrap_err().contains("not mounted"));
}

#[test]
fn a_controller_of_version_one_is_not_one_of_version_two() {
    let tree = Tree::empty()
        .file("proc/mounts", "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup2 /cg/two cgroup2 rw 0 0")
        .file("proc/self/cgroup", "1:cpu:/\n0::/");
    // A namespace calls its own group the root, too.
    assert!(!control(&tree).is_root);
    let tree = tree.file("cg/cpu/release_agent", "");
    assert!(control(&tree).is_root);
    let tree = tree.file("proc/self/cgroup", "1:cpu:/jobs\n0::/");
    let control = control(&tree);
    assert!(!control.is_root);
    assert!(control.folders.unwrap_err().contains("version 1"));
}

#[test]
fn a_group_that_no_mount_shows_is_not_the_root() {
    let tree = Tree::empty()
        .file("proc/self/mountinfo", "31 23 0:28 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file("proc/self/cgroup", "0::/");
    let control = control(&tree);
    assert!(!control.is_root);
    assert!(control.folders.unwrap_err().contains("no mount shows"));
}

#[test]
fn groups_of_version_two_weigh_where_the_controller_reaches_them() {
    let tree = Tree::empty()
        .file("proc/self/mountinfo", VERSION_TWO)
        .file("proc/self/cgroup", "0::/user.slice/session.scope");
    let folders =
        ["sys/fs/cgroup/user.slice/session.scope", "sys/fs/cgroup/user.slice", "sys/fs/cgroup"];
    let at_root = CpuControl { is_root: true, folders: Ok(folders.map(str::to_owned).to_vec()) };
    assert_eq!(control(&tree), at_root);
    let tree = tree.file("sys/fs/cgroup/user.slice/cpu.weight", "100");
    assert_eq!(control(&tree), CpuControl { is_root: false, ..at_root });
}
