//! Accounts of the kernel that do not fit together: a finding each, never a crash.

use corun_machine::{CpuSet, FindingKind, Machine};

use crate::trees::builder::Tree;

const CPUS: &str = "sys/devices/system/cpu";

/// The only finding.
fn finding(machine: &Machine) -> (FindingKind, CpuSet) {
    assert_eq!(machine.findings.len(), 1, "{:#?}", machine.findings);
    let finding = &machine.findings[0];
    assert!(finding.sentence.starts_with(&finding.file), "{}", finding.sentence);
    (finding.kind, finding.cpus.clone())
}

fn cores(machine: &Machine) -> Vec<&[u32]> {
    machine.cores.iter().map(|core| core.cpus.as_slice()).collect()
}

#[test]
fn a_sibling_that_does_not_list_back_is_none() {
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]]);
    let machine = tree.file(&format!("{CPUS}/cpu2/topology/core_cpus_list"), "2").machine();
    assert_eq!(cores(&machine), [&[0][..], &[1, 3], &[2]]);
    assert_eq!(finding(&machine), (FindingKind::ContradictorySiblings, CpuSet::from([0, 2])));
}

#[test]
fn overlapping_lists_still_make_disjoint_cores() {
    let list = |cpu: u32| format!("{CPUS}/cpu{cpu}/topology/core_cpus_list");
    let tree = Tree::of_cores(&[&[0, 1, 2]]).file(&list(0), "0-1").file(&list(2), "1-2");
    let machine = tree.machine();
    assert_eq!(cores(&machine), [&[0, 1][..], &[2]]);
    assert_eq!(finding(&machine).0, FindingKind::ContradictorySiblings);
}

#[test]
fn a_list_that_lacks_its_own_cpu_is_reported() {
    let tree = Tree::of_cores(&[&[0], &[1]]);
    let machine = tree.file(&format!("{CPUS}/cpu0/topology/core_cpus_list"), "1").machine();
    assert_eq!(cores(&machine), [&[0][..], &[1]]);
    assert!(machine.findings.iter().any(|one| one.sentence.contains("missing in their own lists")));
}

#[test]
fn siblings_with_different_core_numbers_are_two_cores() {
    let tree = Tree::of_cores(&[&[0, 1]]);
    let machine = tree.file(&format!("{CPUS}/cpu1/topology/core_id"), 1).machine();
    assert_eq!(cores(&machine), [&[0][..], &[1]]);
    assert_eq!(finding(&machine), (FindingKind::ContradictorySiblings, CpuSet::from([0, 1])));
}

#[test]
fn siblings_in_different_dies_are_reported() {
    let die = |cpu: u32| format!("{CPUS}/cpu{cpu}/topology/die_id");
    let machine = Tree::of_cores(&[&[0, 1]]).file(&die(0), 0).file(&die(1), 1).machine();
    assert_eq!(cores(&machine), [&[0, 1][..]]);
    assert_eq!(finding(&machine), (FindingKind::ContradictoryPlace, CpuSet::from([0, 1])));
}

#[test]
fn packages_are_what_the_kernel_lists_not_what_it_numbers() {
    let tree = Tree::empty().package(0, &[&[0]]).package(0, &[&[1]]).all_present().all_online();
    let machine = tree.machine();
    assert_eq!(machine.packages.len(), 2);
    assert_ne!(machine.cpu(0).unwrap().package, machine.cpu(1).unwrap().package);
    assert_eq!(finding(&machine), (FindingKind::ContradictoryPlace, CpuSet::from([1])));
}

#[test]
fn switched_on_but_not_active_is_said() {
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(2).offline(3).smt("on", "0");
    let machine = tree.machine();
    let kinds: Vec<_> = machine.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::ContradictorySmtState, FindingKind::UnknownCore]);
    assert_eq!(machine.smt.active, Some(false));
}

#[test]
fn siblings_are_believed_where_the_kernel_says_not_active() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]]).smt("off", "0").machine();
    assert_eq!(cores(&machine), [&[0, 2][..], &[1, 3]]);
    assert_eq!(machine.smt.width, 2);
    let everyone = CpuSet::from([0, 1, 2, 3]);
    assert_eq!(finding(&machine), (FindingKind::ContradictorySmtState, everyone));
}

#[test]
fn active_without_online_siblings_is_said() {
    let machine = Tree::of_cores(&[&[0], &[1]]).smt("on", "1").machine();
    assert_eq!(finding(&machine).0, FindingKind::ContradictorySmtState);
}

#[test]
fn caches_that_overlap_are_kept_and_reported() {
    let all = CpuSet::from([0, 1]);
    let tree = Tree::of_cores(&[&[0], &[1]]).cache(1, 0, (1, "Data", "32K", 8), &all);
    let machine = tree.machine();
    assert_eq!(machine.caches.iter().filter(|cache| cache.level == 1).count(), 2);
    assert_eq!(finding(&machine), (FindingKind::ContradictoryCaches, CpuSet::from([0])));
}

#[test]
fn a_cpu_in_two_numa_nodes_counts_for_the_lower() {
    let tree = Tree::of_cores(&[&[0], &[1]])
        .file("sys/devices/system/node/node0/cpulist", "0-1")
        .file("sys/devices/system/node/node1/cpulist", "1");
    let machine = tree.machine();
    assert_eq!(machine.cpu(1).unwrap().numa_node, Some(0));
    assert_eq!(finding(&machine), (FindingKind::ContradictoryNumaNodes, CpuSet::from([1])));
}

#[test]
fn a_summary_that_the_cpus_contradict_is_not_believed() {
    let tree = || Tree::of_cores(&[&[0, 2], &[1, 3]]);
    let online = format!("{CPUS}/online");
    // LXCFS numbers the CPUs of a container from 0.
    let renumbered =
        tree().file(&online, "0").file("proc/self/status", "Cpus_allowed_list:\t3").machine();
    assert_eq!(renumbered.online(), CpuSet::from([0, 1, 2, 3]));
    assert_eq!(renumbered.allowed(), CpuSet::from([3]));
    assert_eq!(finding(&renumbered), (FindingKind::ContradictoryOnline, CpuSet::from([1, 2, 3])));
    // The file of each CPU is surer than its folder.
    let own = |cpu: u32, text: &str| tree().file(&format!("{CPUS}/cpu{cpu}/online"), text);
    let machine = own(2, "1").file(&online, "0-1,3").machine();
    assert_eq!(machine.online(), CpuSet::from([0, 1, 2, 3]));
    assert_eq!(finding(&machine), (FindingKind::ContradictoryOnline, CpuSet::from([2])));
    let machine = own(2, "0").machine();
    assert_eq!(machine.online(), CpuSet::from([0, 1, 3]));
    assert_eq!(machine.findings[0].kind, FindingKind::ContradictoryOnline);
}

#[test]
fn the_mask_that_the_kernel_grants_is_believed() {
    // Nothing but the mask knows of CPU 24.
    let machine = Tree::empty()
        .file(&format!("{CPUS}/online"), "0")
        .file("proc/self/status", "Cpus_allowed_list:\t24")
        .machine();
    assert_eq!(machine.allowed(), CpuSet::from([24]));
    assert_eq!(machine.findings[0].kind, FindingKind::ContradictoryOnline);
    // A cpuset that lacks CPUs of the mask is that of another group.
    let group = "sys/fs/cgroup/user.slice";
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]])
        .file("proc/self/cgroup", "0::/user.slice")
        .file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
        .file(&format!("{group}/cpuset.cpus.effective"), "0-1")
        .file("proc/self/status", "Cpus_allowed_list:\t0,2")
        .machine();
    assert_eq!(machine.allowed(), CpuSet::from([0, 2]));
    assert_eq!(finding(&machine), (FindingKind::ContradictoryAllowed, CpuSet::from([2])));
}

#[test]
fn a_file_that_lxcfs_shows_is_not_read() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]])
        .file(&format!("{CPUS}/online"), "0")
        .file("proc/self/mounts", "lxcfs /sys/devices/system/cpu/online fuse.lxcfs rw 0 0")
        .machine();
    assert_eq!(machine.online(), CpuSet::from([0, 1, 2, 3]));
    assert_eq!(finding(&machine).0, FindingKind::UnreadableFile);
    assert!(machine.findings[0].sentence.contains("lxcfs is mounted over the kernel's file"));
}
