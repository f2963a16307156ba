//! Limits of the CPUs of a process: mask, cpuset and quota, each named once and as what it is.

use corun_machine::{CpuLimit, CpuLimits, CpuSet, Machine, RootFiles};

use crate::trees::builder::Tree;

const GROUP: &str = "sys/fs/cgroup/jobs/solver";

fn limits(tree: &Tree) -> CpuLimits {
    let mut files = RootFiles::open(tree.root()).unwrap();
    let machine = Machine::from_files(&mut files).unwrap();
    CpuLimits::read(&mut files, &machine)
}

fn sentences(tree: &Tree) -> Vec<String> {
    limits(tree).limits.iter().map(ToString::to_string).collect()
}

/// Four cores of two siblings in a control group of version 2.
fn tree() -> Tree {
    Tree::of_cores(&[&[0, 4], &[1, 5], &[2, 6], &[3, 7]])
        .file("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file("proc/self/cgroup", "0::/jobs/solver")
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
        .file(&format!("{GROUP}/cpuset.cpus.effective"), "0-7")
        .file(&format!("{GROUP}/cpu.max"), "max 100000")
        .file("proc/self/status", "Cpus_allowed_list:\t0-7")
}

#[test]
fn nothing_limits_a_process_that_may_use_all() {
    let found = limits(&tree());
    assert!(found.limits.is_empty() && found.unknown.is_empty(), "{found:#?}");
    assert_eq!(found.usable(), 8.0);
}

#[test]
fn a_mask_and_the_cpuset_it_was_cut_down_to_are_distinguished() {
    let mask = tree().file("proc/self/status", "Cpus_allowed_list:\t0-3");
    assert_eq!(sentences(&mask), ["The affinity mask of this process allows 4 of 8 CPUs: 0-3."]);
    let cpuset = |mask: &str| {
        tree()
            .file(&format!("{GROUP}/cpuset.cpus.effective"), "0-3")
            .file("proc/self/status", format!("Cpus_allowed_list:\t{mask}"))
    };
    let of_cpuset = format!(
        "The cpuset of the control group allows 4 of 8 CPUs: 0-3 (/{GROUP}/cpuset.cpus.effective)."
    );
    assert_eq!(sentences(&cpuset("0-3")), std::slice::from_ref(&of_cpuset));
    assert_eq!(
        sentences(&cpuset("2")),
        [of_cpuset, "The affinity mask of this process allows 1 of 8 CPUs: 2.".to_owned()]
    );
    assert_eq!(limits(&cpuset("2")).allowed, CpuSet::from([2]));
}

#[test]
fn the_tightest_quota_up_the_tree_counts_with_its_group() {
    let own = tree()
        .file(&format!("{GROUP}/cpu.max"), "600000 100000")
        .file("sys/fs/cgroup/jobs/cpu.max", "250000 100000");
    let found = limits(&own);
    assert_eq!(found.usable(), 2.5);
    assert_eq!(
        found.limits,
        [CpuLimit::Quota { cpus: 2.5, allowed: 8, group: "sys/fs/cgroup/jobs".to_owned() }]
    );
    assert_eq!(
        sentences(&own),
        ["The control group /sys/fs/cgroup/jobs may use the CPU time of 2.50 CPUs, of 8 that are \
          allowed."]
    );
    // A quota for more CPUs than are allowed limits nothing.
    let wide = own
        .file("sys/fs/cgroup/jobs/cpu.max", "max 100000")
        .file(&format!("{GROUP}/cpu.max"), "800000 100000");
    assert_eq!(limits(&wide).quota(), None);
}

#[test]
fn version_one_has_its_own_files() {
    let tree = Tree::of_cores(&[&[0], &[1]])
        .file("proc/self/mountinfo", "34 31 0:31 / /cg rw - cgroup cgroup rw,cpu,cpuacct")
        .file("proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/")
        .file("cg/job/cpu.cfs_quota_us", "-1")
        .file("cg/cpu.cfs_quota_us", "50000")
        .file("cg/cpu.cfs_period_us", "100000");
    let quota = CpuLimit::Quota { cpus: 0.5, allowed: 2, group: "cg".to_owned() };
    assert_eq!(limits(&tree).limits, [quota]);
    // The group at the mount point may be that of a namespace, with others above it.
    let without = tree.file("cg/cpu.cfs_quota_us", "-1");
    assert!(limits(&without).unknown[0].contains("cannot be seen from here"));
    assert_eq!(limits(&without.file("cg/cgroup.sane_behavior", "0")).unknown, [""; 0]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let hidden = tree().file("proc/self/mountinfo", "21 1 0:20 / /proc rw - proc proc rw");
    let unknown = limits(&hidden).unknown;
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert!(unknown[0].contains("No mount shows the control group"), "{unknown:?}");
}

/// Tree with other mounts and groups.
fn with(mounts: &[&str], groups: &str) -> Vec<String> {
    let tree =
        tree().file("proc/self/mountinfo", mounts.join("\n")).file("proc/self/cgroup", groups);
    let found = limits(&tree);
    assert_eq!(found.limits, [], "{mounts:?} {groups}");
    found.unknown
}

#[test]
fn a_quota_is_unknown_where_the_own_group_or_one_above_is_not_seen() {
    const WHOLE: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    for (mounts, groups) in [
        // A namespace of control groups, mounted before it was made, and names above its root.
        (&["31 23 0:28 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw"][..], "0::/"),
        (&[WHOLE], "0::/../jobs"),
        // A part of the hierarchy alone, and one beside the own group.
        (&["31 23 0:28 /jobs /sys/fs/cgroup/jobs rw - cgroup2 cgroup2 rw"], "0::/jobs/solver"),
        (&["31 23 0:28 /other /sys/fs/cgroup rw - cgroup2 cgroup2 rw"], "0::/jobs/solver"),
        // Other mounts over the hierarchy, over a folder above the own group, and over its own.
        (&[WHOLE, "32 31 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw"], "0::/jobs/solver"),
        (&[WHOLE, "32 23 0:30 / /sys/fs rw - tmpfs tmpfs rw"], "0::/jobs/solver"),
        (&[WHOLE, "32 31 0:30 / /sys/fs/cgroup/jobs rw - tmpfs tmpfs rw"], "0::/jobs/solver"),
    ] {
        assert_eq!(with(mounts, groups).len(), 1, "{mounts:?} {groups}");
    }
    let part = "33 23 0:28 /jobs /cg rw - cgroup2 cgroup2 rw";
    assert_eq!(with(&[part, WHOLE], "0::/jobs/solver"), [""; 0], "the mount that shows all");
    let below = tree().file("sys/fs/cgroup/cgroup.events", "populated 1");
    assert!(limits(&below).unknown[0].contains("/sys/fs/cgroup do not limit"));
}

#[test]
fn a_quota_of_a_group_whose_name_begins_with_dots_is_seen() {
    let dots = tree()
        .file("proc/self/cgroup", "0::/..jobs")
        .file("sys/fs/cgroup/..jobs/cpu.max", "150000 100000");
    assert_eq!(limits(&dots).usable(), 1.5);
}
