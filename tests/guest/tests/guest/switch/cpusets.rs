//! Cpusets of version 1: the kernel takes CPUs out of them and never puts them back.

use corun_guest_tests::Guest;

use crate::switch::{TWO_BY_TWO, boot};

const CPUSETS: &str = "
    mkdir /cpuset
    mount -t cgroup -o cpuset cpuset /cpuset
    # A set with CPUs and a task in it.
    cpuset() {
        mkdir /cpuset/$1
        echo $2 >/cpuset/$1/cpuset.cpus
        echo 0 >/cpuset/$1/cpuset.mems
        sleep 100000 &
        echo $! >/cpuset/$1/tasks
    }
";

/// Sets that would lose CPUs are named, with the way out; nothing is touched.
#[test]
fn sets_that_would_lose_cpus_are_a_reason_to_refuse() {
    let script = format!(
        "{CPUSETS}
        cpuset first 0,2
        cpuset all 0-3
        cpuset all/inner 1
        before
        try off corun smt off --yes
        try run corun smt run --yes --state off -- touch /results/ran
        restored refused
        for set in all/inner all; do
            while read task; do echo $task >/cpuset/tasks; done </cpuset/$set/tasks
            rmdir /cpuset/$set
        done
        before
        try harmless corun smt run --yes --state off -- cat $cpus/online
        restored harmless"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    for name in ["off", "run"] {
        outcome.assert_refused(name, 3, &["/cpuset/all", "/cpuset/all/inner", "--repair-cpusets"]);
        assert!(!outcome.said(name).contains("/cpuset/first"), "{}", outcome.said(name));
    }
    assert!(!outcome.0.results.files.contains_key("ran"));
    outcome.assert_status("harmless", 0);
    assert_eq!(outcome.printed("harmless"), "0,2");
    outcome.assert_restored(&["refused", "harmless"]);
}

/// With the user's leave they lose CPUs, even all of them, and get them and their tasks back.
#[test]
fn sets_are_repaired_with_their_tasks() {
    let script = format!(
        "{CPUSETS}
        cpuset first 0,2
        cpuset all 0-3
        cpuset all/inner 1,3
        cpuset sibling 1
        before
        try run corun smt run --yes --repair-cpusets --state off -- cat /cpuset/all/cpuset.cpus
        restored run
        try off corun smt off --yes --repair-cpusets
        try lost cat /cpuset/all/cpuset.cpus
        try restore corun smt restore
        restored restore
        try killed taskset 1 kill-at-step kill 1 --from 'smt/control off' -- \
            corun smt run --yes --repair-cpusets --state off -- true
        restored killed"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    for name in ["run", "off", "restore", "killed"] {
        outcome.assert_status(name, 0);
    }
    // They do lose them, or this test would prove nothing.
    assert_eq!(outcome.printed("lost"), "0,2");
    assert!(outcome.printed("killed").starts_with("killed"), "{}", outcome.printed("killed"));
    outcome.assert_restored(&["run", "restore", "killed"]);
}
