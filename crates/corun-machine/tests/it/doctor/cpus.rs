//! Which CPUs there are to measure on: SMT, what is allowed, quotas, isolation, contradictions.

use corun_machine::doctor::Severity;

use crate::doctor::healthy::{CPUS, GROUP, one, only, tree};
use crate::trees::builder::Tree;

/// The healthy machine as the kernel shows it when the siblings 2 and 3 are offline.
fn without_siblings(control: &str) -> Tree {
    tree().offline(2).offline(3).smt(control, "0")
}

#[test]
fn the_switch_is_distinguished_from_the_boot_line_and_from_offlining_by_hand() {
    let off = one(&without_siblings("off"), "smt");
    assert_eq!(off.severity, Severity::Spoils);
    assert_eq!(off.advice.unwrap().commands, ["sudo corun smt on"]);

    let forced = without_siblings("forceoff").file("proc/cmdline", "quiet nosmt=force");
    let forced = one(&forced, "smt");
    assert_eq!(forced.severity, Severity::Spoils);
    assert!(forced.evidence.iter().any(|it| it.text == "nosmt=force"), "{forced:#?}");
    assert!(forced.advice.unwrap().sentence.contains("boot"));

    let by_hand = one(&without_siblings("on"), "smt");
    assert_eq!(by_hand.severity, Severity::Spoils);
    insta::assert_snapshot!(by_hand.sentence, @"SMT is switched on, yet no core has two siblings online: CPUs 2-3 were taken offline one by one, so there is nothing to compare.");
    assert_eq!(
        by_hand.advice.unwrap().commands[0],
        "echo 1 | sudo tee /sys/devices/system/cpu/cpu2/online"
    );
}

#[test]
fn a_switch_that_nobody_has_undone_is_reported() {
    let left = tree().file("run/corun/smt-unfinished.json", "{}");
    let left = one(&left, "unfinished-switch");
    assert_eq!(left.severity, Severity::Spoils);
    assert_eq!(left.advice.unwrap().commands, ["sudo corun smt restore"]);
    assert_eq!(one(&tree(), "unfinished-switch").severity, Severity::Fine);
    let by = |process| {
        let state = format!(r#"{{"by": {{"process": {process}, "command": "corun"}}}}"#);
        let tree = tree().file("run/corun/smt-unfinished.json", &state);
        one(&tree, "unfinished-switch").severity
    };
    assert_eq!(by(std::process::id()), Severity::Fine, "its own switch");
    assert_eq!(by(std::process::id() + 1), Severity::Spoils);
    let earlier = tree()
        .file("run/corun/smt-unfinished.json", r#"{"boot": "one"}"#)
        .file("proc/sys/kernel/random/boot_id", "another");
    assert_eq!(one(&earlier, "unfinished-switch").severity, Severity::Fine);
}

#[test]
fn a_machine_without_siblings_has_nothing_to_compare() {
    for tree in
        [Tree::of_cores(&[&[0], &[1]]).smt("notsupported", "0"), Tree::of_cores(&[&[0], &[1]])]
    {
        let diagnosis = one(&tree, "smt");
        assert_eq!(diagnosis.severity, Severity::Spoils);
        assert!(diagnosis.advice.unwrap().sentence.contains("firmware"));
    }
    let guest = Tree::of_cores(&[&[0]]).file("proc/cpuinfo", "flags : fpu hypervisor");
    assert!(one(&guest, "smt").advice.unwrap().sentence.contains("host"));
}

#[test]
fn one_sibling_that_is_offline_disturbs() {
    let diagnosis = one(&tree().offline(3), "smt");
    assert_eq!(diagnosis.severity, Severity::Disturbs);
    insta::assert_snapshot!(diagnosis.sentence, @"CPU 3 is offline although SMT is on; 1 core still has two siblings or more.");
}

#[test]
fn a_cpuset_that_splits_cores_is_worse_than_one_that_takes_them_whole() {
    let allowed = |cpus: &str| {
        tree()
            .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
            .file(&format!("{GROUP}/cpuset.cpus.effective"), cpus)
            .file("proc/self/status", format!("Cpus_allowed_list:\t{cpus}"))
    };
    let split = only(&allowed("0-1"), "allowed-cpus", Severity::Spoils);
    insta::assert_snapshot!(split.sentence, @"No core has all its siblings allowed: CPUs 2-3 are missing.");
    assert_eq!(split.evidence[1].file, format!("{GROUP}/cpuset.cpus.effective"));
    let partly = only(&allowed("0-2"), "allowed-cpus", Severity::Disturbs);
    assert!(partly.sentence.ends_with("not allowed: CPU 3."), "{}", partly.sentence);
    only(&allowed("0,2"), "allowed-cpus", Severity::Note);
    assert_eq!(one(&allowed("0-3"), "allowed-cpus").severity, Severity::Fine);
}

#[test]
fn a_quota_of_either_version_is_found_anywhere_up_the_tree() {
    let quota = |text: &str| tree().file(&format!("{GROUP}/cpu.max"), text);
    let tight =
        quota("150000 100000").file(&format!("{GROUP}/cpu.stat"), "nr_periods 9\nnr_throttled 4");
    let tight = only(&tight, "quota", Severity::Spoils);
    insta::assert_snapshot!(tight.sentence, @"A control group may use the time of 1.50 CPUs; 4 are allowed.");
    assert!(tight.evidence[1].text.starts_with("nr_throttled 4"), "{tight:#?}");
    only(&quota("400000 100000"), "quota", Severity::Note);

    let above = tree()
        .file("proc/self/cgroup", "0::/user.slice/deep/er")
        .file(&format!("{GROUP}/cpu.max"), "50000 100000")
        .file(&format!("{GROUP}/deep/cpu.max"), "200000 100000");
    let above = only(&above, "quota", Severity::Spoils);
    assert_eq!(above.evidence[0].file, format!("{GROUP}/cpu.max"));

    let first = |quota: &str| {
        tree()
            .file("proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/")
            .file("proc/self/mountinfo", "34 31 0:31 / /cg rw - cgroup cgroup rw,cpu,cpuacct")
            .file("cg/job/cpu.cfs_quota_us", quota)
            .file("cg/job/cpu.cfs_period_us", 50000)
            .file("cg/cgroup.sane_behavior", 0)
    };
    let tight = only(&first("25000"), "quota", Severity::Spoils);
    assert!(tight.sentence.contains("0.50 CPUs"), "{}", tight.sentence);
    let command = &tight.advice.unwrap().commands[0];
    assert_eq!(command, "echo -1 | sudo tee /cg/job/cpu.cfs_quota_us");
    assert_eq!(one(&first("-1"), "quota").severity, Severity::Fine);
}

#[test]
fn a_group_that_no_mount_shows_is_unknown() {
    let hidden = tree().file("proc/self/mountinfo", "21 1 0:20 / /proc rw - proc proc rw");
    let diagnosis = only(&hidden, "quota", Severity::Unknown);
    assert_eq!(diagnosis.evidence[0].text, "0::/user.slice");
}

#[test]
fn groups_above_a_namespace_are_unknown_and_a_tighter_quota_below_is_not() {
    let inside = tree().file("sys/fs/cgroup/cgroup.events", "populated 1");
    let unknown = only(&inside, "quota", Severity::Unknown);
    insta::assert_snapshot!(unknown.sentence, @"The control groups from /sys/fs/cgroup/user.slice up to /sys/fs/cgroup do not limit CPU time to less than the CPUs that are allowed; those above cannot be seen from here.");
    let max = format!("{GROUP}/cpu.max");
    only(&inside.file(&max, "150000 100000"), "quota", Severity::Spoils);
}

#[test]
fn isolated_cpus_are_good_news_where_they_may_be_used_alone() {
    let isolated = |list: &str| tree().file(&format!("{CPUS}/isolated"), list);
    assert_eq!(one(&isolated("0-3"), "isolation").severity, Severity::Fine);
    assert!(one(&isolated("0-3"), "isolation").sentence.contains("quiet place"));
    let mixed = only(&isolated("1,3"), "isolation", Severity::Disturbs);
    assert_eq!(mixed.advice.unwrap().commands, ["taskset --cpu-list 1,3 corun measure -- COMMAND"]);
    let elsewhere = isolated("1,3")
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
        .file(&format!("{GROUP}/cpuset.cpus.effective"), "0,2")
        .file("proc/self/status", "Cpus_allowed_list:\t0,2");
    assert_eq!(one(&elsewhere, "isolation").severity, Severity::Note);
    // A CPU that is isolated and offline is no place to measure on.
    assert_eq!(one(&isolated("7"), "isolation").severity, Severity::Fine);
}

#[test]
fn what_the_kernel_contradicts_is_evidence() {
    let odd = tree().file(&format!("{CPUS}/cpu1/topology/core_cpus_list"), "1");
    let diagnosis = one(&odd, "contradictions");
    assert_eq!(diagnosis.severity, Severity::Disturbs);
    assert!(diagnosis.evidence[0].file.ends_with("topology/core_cpus_list"), "{diagnosis:#?}");
}
