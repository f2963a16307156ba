//! What the boot line has decided, and who may not switch.

use corun_guest_tests::{Guest, Shape};

use crate::switch::{TWO_BY_TWO, boot};

/// A machine that boots without SMT can have it for a while.
#[test]
fn nosmt_can_be_switched_on() {
    let script = "
        before
        try run corun smt run --yes --state on -- cat $cpus/online
        restored run
        try on corun smt on --yes
        try while-on cat $cpus/online
        try restore corun smt restore
        restored restore
    ";
    let guest = Guest::new(TWO_BY_TWO).kernel_argument("nosmt");
    let Some(outcome) = boot(guest, script) else { return };
    for name in ["run", "on", "restore"] {
        outcome.assert_status(name, 0);
    }
    assert_eq!(outcome.printed("run"), "0-3");
    assert_eq!(outcome.printed("while-on"), "0-3");
    outcome.assert_restored(&["run", "restore"]);
}

/// Only a reboot undoes `nosmt=force`, and corun says so.
#[test]
fn nosmt_force_cannot_be_switched() {
    let script = "
        before
        try on corun smt on --yes
        try run corun smt run --yes --state on -- touch /results/ran
        try off corun smt run --yes --state off -- cat $cpus/online
        try status corun smt status
        restored refused
    ";
    let guest = Guest::new(TWO_BY_TWO).kernel_argument("nosmt=force");
    let Some(outcome) = boot(guest, script) else { return };
    for name in ["on", "run"] {
        outcome.assert_refused(name, 3, &["forceoff", "`nosmt=force`", "reboot"]);
    }
    assert!(!outcome.0.results.files.contains_key("ran"));
    // It is off, as is asked for.
    outcome.assert_status("off", 0);
    assert_eq!(outcome.printed("off"), "0,2");
    assert!(outcome.printed("status").contains("nosmt=force"));
    outcome.assert_restored(&["refused"]);
}

/// A core of one thread has nothing to switch.
#[test]
fn one_thread_a_core_cannot_be_switched() {
    let script = "
        before
        try off corun smt off --yes
        try on corun smt run --yes --state on -- true
        restored refused
    ";
    let shape = Shape { sockets: 1, cores: 2, threads: 1 };
    let Some(outcome) = boot(Guest::new(shape), script) else { return };
    for name in ["off", "on"] {
        outcome.assert_refused(name, 3, &["notsupported"]);
    }
    outcome.assert_restored(&["refused"]);
}

/// The switch brings up every CPU there is; those that were never up have to go again.
#[test]
fn cpus_that_never_came_up_stay_down() {
    let script = "
        before
        try run corun smt run --yes --state off -- cat $cpus/online
        restored run
        try off corun smt off --yes
        try status corun smt status --json -
        try on corun smt on --yes
        restored on
    ";
    let guest = Guest::new(TWO_BY_TWO).kernel_argument("maxcpus=2");
    let Some(outcome) = boot(guest, script) else { return };
    for name in ["run", "off", "on"] {
        outcome.assert_status(name, 0);
    }
    assert_eq!(outcome.printed("run"), "0");
    outcome.assert_restored(&["run", "on"]);
}

/// Whoever is not root is told so; where there is no terminal, nobody is asked.
#[test]
fn only_root_switches_and_nobody_is_asked_without_a_terminal() {
    let script = "
        before
        for command in 'smt off --yes' 'smt run --yes --state off -- touch /results/ran'; do
            try nobody-${#command} su nobody -c \"corun $command\"
        done
        try status su nobody -c 'corun smt status'
        restored nobody
        try unasked corun smt off
        try while-off cat $cpus/online
        try unasked-on corun smt run --state on -- cat $cpus/online
        try restore corun smt restore
        restored root
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    for command in ["smt off --yes", "smt run --yes --state off -- touch /results/ran"] {
        outcome.assert_refused(&format!("nobody-{}", command.len()), 4, &["root"]);
    }
    assert!(!outcome.0.results.files.contains_key("ran"));
    for (name, online) in [("while-off", "0,2"), ("unasked-on", "0-3")] {
        assert_eq!(outcome.printed(name), online, "{name}");
    }
    for name in ["status", "unasked", "unasked-on", "restore"] {
        outcome.assert_status(name, 0);
    }
    outcome.assert_restored(&["nobody", "root"]);
}
