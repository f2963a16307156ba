//! What is seen by watching: load and whose it is, stolen time, interrupts, swapping, polling.

use corun_machine::RootFiles;
use corun_machine::doctor::{Report, Severity};

use crate::doctor::healthy::{
    CPUS, interrupts, one, only, only_in, pressure, rewrite, stat, task, tree, watched, watched_for,
};
use crate::trees::builder::Tree;

/// Ticks of a tenth of a second; a test that assumes another resolution fails everywhere alike.
const TENTH: u64 = 10;

#[test]
fn load_is_reported_with_the_names_of_the_busiest() {
    let tree = tree().file("proc/60/stat", task(60, "old (hand)", 500));
    let report = watched(&tree, || {
        rewrite(&tree, "proc/stat", &stat([1000, 1000, 1000, 1000 + 9 * TENTH], [0; 4]));
        rewrite(&tree, "proc/60/stat", &task(60, "old (hand)", 500 + 5 * TENTH));
        std::fs::create_dir(tree.root().join("proc/61")).unwrap();
        rewrite(&tree, "proc/61/stat", &task(61, "newcomer", 4 * TENTH));
        // corun itself is not "other work".
        rewrite(&tree, "proc/50/stat", &task(50, "corun", 1000));
    });
    let load = only_in(&report, "load", Severity::Spoils);
    insta::assert_snapshot!(load.sentence, @"Other work kept CPU 3 busy for 90 % of the time, and 0.90 of 4 CPUs in all. Busiest: old (hand) (50 %), newcomer (40 %).");
    let files: Vec<&str> = load.evidence.iter().map(|it| it.file.as_str()).collect();
    assert_eq!(files, ["proc/stat", "proc/60/stat", "proc/61/stat"]);
}

#[test]
fn a_little_load_disturbs_and_housekeeping_does_not() {
    let with_ticks = |ticks: u64| {
        let tree = tree();
        let report = watched(&tree, || {
            rewrite(&tree, "proc/stat", &stat([1000 + ticks, 1000, 1000, 1000], [0; 4]));
        });
        report.diagnosis("load").unwrap().clone()
    };
    assert_eq!(with_ticks(1).severity, Severity::Fine);
    assert_eq!(with_ticks(2).severity, Severity::Fine);
    let little = with_ticks(TENTH);
    assert_eq!(little.severity, Severity::Disturbs);
    assert!(little.sentence.contains("No task that can be seen"), "{}", little.sentence);
}

#[test]
fn a_glance_is_too_short_to_see_load() {
    let glance = std::time::Duration::from_millis(50);
    only_in(&watched_for(glance, &tree(), || ()), "load", Severity::Unknown);
}

#[test]
fn load_on_a_cpu_that_is_neither_allowed_nor_a_sibling_is_none_of_our_business() {
    let tree = tree()
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
        .file("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0")
        .file("proc/self/status", "Cpus_allowed_list:\t0");
    let busy = |cpu: usize| {
        rewrite(&tree, "proc/stat", &stat([1000; 4], [0; 4]));
        let mut user = [1000; 4];
        user[cpu] += 5 * TENTH;
        let report = watched(&tree, || rewrite(&tree, "proc/stat", &stat(user, [0; 4])));
        report.diagnosis("load").unwrap().severity
    };
    assert_eq!(busy(1), Severity::Fine);
    assert_eq!(busy(2), Severity::Spoils);
}

#[test]
fn stolen_time_counts_now_and_since_boot() {
    let tree = tree();
    let report = watched(&tree, || rewrite(&tree, "proc/stat", &stat([1000; 4], [0, 5, 0, 0])));
    let now = only_in(&report, "steal", Severity::Disturbs);
    assert!(now.sentence.contains("5.0 % of a CPU"), "{}", now.sentence);
    let before = crate::doctor::healthy::tree().file("proc/stat", stat([1000; 4], [200, 0, 0, 0]));
    let before = only(&before, "steal", Severity::Disturbs);
    insta::assert_snapshot!(before.sentence, @"The hypervisor took 4.8 % of the working time away since boot.");
    let nonsense = crate::doctor::healthy::tree().file("proc/stat", "zebra");
    assert_eq!(one(&nonsense, "steal").severity, Severity::Unknown);
    assert_eq!(one(&nonsense, "load").severity, Severity::Unknown);
}

#[test]
fn a_device_that_interrupts_often_is_named() {
    let tree = tree();
    let report = watched(&tree, || rewrite(&tree, "proc/interrupts", &interrupts(5100)));
    let busy = only_in(&report, "interrupts", Severity::Disturbs);
    assert_eq!(busy.evidence[0].text, "CPU3: 5000 a second, 5000 of them 45 (nvme0q1)");
    assert_eq!(busy.advice.unwrap().commands, Vec::<String>::new(), "there is no other CPU");
}

#[test]
fn a_few_interrupts_in_a_moment_are_no_rate() {
    let tree = tree();
    let moment = std::time::Duration::from_millis(10);
    let report = watched_for(moment, &tree, || rewrite(&tree, "proc/interrupts", &interrupts(150)));
    assert_eq!(report.diagnosis("interrupts").unwrap().severity, Severity::Fine);
}

#[test]
fn interrupts_go_to_cpus_that_are_not_measured_if_there_are_any() {
    let tree = tree()
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
        .file("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "1,3")
        .file("proc/self/status", "Cpus_allowed_list:\t1,3");
    let report = watched(&tree, || rewrite(&tree, "proc/interrupts", &interrupts(5100)));
    let busy = report.diagnosis("interrupts").unwrap().clone();
    assert_eq!(
        busy.advice.unwrap().commands,
        ["echo 0,2 | sudo tee /proc/irq/45/smp_affinity_list"]
    );
}

#[test]
fn swapping_and_waiting_for_memory_disturb() {
    let tree = tree();
    let report = watched(&tree, || rewrite(&tree, "proc/vmstat", "pswpin 5\npswpout 99"));
    only_in(&report, "memory-pressure", Severity::Disturbs);
    let hardly = crate::doctor::healthy::tree().file("proc/pressure/memory", pressure("0.05"));
    assert_eq!(one(&hardly, "memory-pressure").severity, Severity::Fine);
    let waiting = crate::doctor::healthy::tree().file("proc/pressure/memory", pressure("1.25"));
    let waiting = only(&waiting, "memory-pressure", Severity::Disturbs);
    assert!(waiting.sentence.contains("1.25 %"), "{}", waiting.sentence);
    // Either account suffices.
    let without = crate::doctor::healthy::tree().without("proc/pressure/memory");
    assert_eq!(one(&without, "memory-pressure").severity, Severity::Fine);
    let neither = without.without("proc/vmstat");
    only(&neither, "memory-pressure", Severity::Unknown);
}

#[test]
fn a_sibling_that_polls_while_idle_spoils() {
    let tree = tree();
    let time = format!("{CPUS}/cpu2/cpuidle/state0/time");
    let report = watched(&tree, || rewrite(&tree, &time, "900010"));
    let polling = only_in(&report, "idle-polling", Severity::Spoils);
    insta::assert_snapshot!(polling.sentence, @"CPU 2 polled while idle.");
    let forced = crate::doctor::healthy::tree().file("proc/cmdline", "idle=halt idle=poll");
    let forced = only(&forced, "idle-polling", Severity::Spoils);
    assert_eq!(forced.evidence[0].text, "idle=poll");
}

#[test]
fn a_captured_tree_is_not_watched_and_says_so() {
    let mut files = RootFiles::open(tree().root()).unwrap();
    assert!(Report::from_files(&mut files, None).is_none(), "the tree is gone");
    let tree: Tree = tree();
    let report = Report::read(tree.root(), std::time::Duration::MAX).unwrap();
    assert_eq!(report.watched_s, None);
    for check in ["load", "interrupts", "idle-polling"] {
        let diagnosis = report.diagnosis(check).unwrap();
        assert_eq!(diagnosis.severity, Severity::Unknown, "{check}");
        assert!(diagnosis.sentence.contains("captured"), "{}", diagnosis.sentence);
    }
    for check in ["smt", "quota", "governor", "memory-pressure", "steal"] {
        assert_eq!(report.diagnosis(check).unwrap().severity, Severity::Fine, "{check}");
    }
}
