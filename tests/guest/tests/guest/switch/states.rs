//! Off, on, run and restore on several machines, also with CPUs that somebody took offline by hand.

use corun_guest_tests::{Guest, Shape};
use serde_json::json;

use crate::switch::{TWO_BY_TWO, boot};

/// Goes through all the commands that switch; `$1` goes before the names.
const ROUND: &str = "
    round() {
        before
        try $1-run corun smt run --yes --state off -- wake cat $cpus/online
        restored $1-run
        try $1-off corun smt off --yes
        try $1-while-off wake cat $cpus/online
        try $1-off-again corun smt off --yes
        try $1-status corun smt status --json -
        try $1-restore corun smt restore
        restored $1-restore
        try $1-off-once-more corun smt off --yes
        wake true
        try $1-on corun smt on --yes
        restored $1-on
        try $1-nothing-left corun smt restore
        restored $1-nothing-left
    }
";

/// Every shape goes off and comes back; `online` tells what is left of it while off.
fn assert_round(shape: Shape, online: &str, all: &str, bind: &str) {
    let script = format!("{ROUND}\n{bind}\nround plain");
    let Some(outcome) = boot(Guest::new(shape), &script) else { return };
    for name in ["run", "off", "off-again", "status", "restore", "on"] {
        outcome.assert_status(&format!("plain-{name}"), 0);
    }
    assert_eq!(outcome.printed("plain-run"), online);
    assert_eq!(outcome.printed("plain-while-off"), online);
    let status = outcome.0.json("plain-status.out");
    assert_eq!(status["control"], "off");
    assert_eq!(status["smt"], "off");
    assert_eq!(status["left_by_corun"]["why"], "asked_for");
    let offline = status["offline"].as_array().expect("a list of CPUs");
    assert!(offline.iter().all(|cpu| cpu["by"] == "corun"), "{status}");
    assert_eq!(offline.len() + online.split(',').count(), all.split(',').count(), "{status}");
    outcome.assert_refused("plain-nothing-left", 1, &["nothing that corun has switched is left"]);
    outcome.assert_restored(&["plain-run", "plain-restore", "plain-on", "plain-nothing-left"]);
}

#[test]
fn two_cores_of_two_threads() {
    // Tasks on a sibling alone, on a whole core, on both siblings, and an interrupt on a sibling.
    let bind = "bind 2; bind 3; bind a; bind 1; echo 1 >/proc/irq/12/smp_affinity_list";
    assert_round(TWO_BY_TWO, "0,2", "0,1,2,3", bind);
}

#[test]
fn one_core_of_four_threads() {
    let shape = Shape { sockets: 1, cores: 1, threads: 4 };
    assert_round(shape, "0", "0,1,2,3", "bind 8; bind 6; bind 5");
}

#[test]
fn two_sockets() {
    let shape = Shape { sockets: 2, cores: 2, threads: 2 };
    assert_round(shape, "0,2,4,6", "0,1,2,3,4,5,6,7", "bind 80; bind c0; bind aa");
}

/// What was offline by hand is offline afterwards, whichever CPU of a core it was.
#[test]
fn what_was_taken_offline_by_hand_stays_so() {
    // The name of each case lists the CPUs; tasks name siblings, also offline ones.
    let script = format!(
        "{ROUND}
        for cpus_by_hand in 3 1 2 2-3; do
            # Of these the kernel takes the mask without corun when all their CPUs are offline by
            # hand, so that they need not come back, and do not keep anything from coming back.
            bind 2; bind 8; bind c
            bound=
            bind a; bind 7; bind e
            for cpu in $(echo $cpus_by_hand | tr - ' '); do echo 0 >$cpus/cpu$cpu/online; done
            round $cpus_by_hand
            for cpu in 1 2 3; do echo 1 >$cpus/cpu$cpu/online; done
        done"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    let cases = [("3", "0,2"), ("1", "0,2"), ("2", "0"), ("2-3", "0")];
    let mut expected = Vec::new();
    for (case, online) in cases {
        for name in ["run", "off", "off-again", "restore", "on"] {
            outcome.assert_status(&format!("{case}-{name}"), 0);
        }
        assert_eq!(outcome.printed(&format!("{case}-run")), online, "{case}");
        for name in ["run", "restore", "on", "nothing-left"] {
            expected.push(format!("{case}-{name}"));
        }
    }
    outcome.assert_restored(&expected.iter().map(String::as_str).collect::<Vec<_>>());
    let status = outcome.0.json("3-status.out");
    let offline = json!([{ "cpu": 1, "by": "corun" }, { "cpu": 3, "by": "hand" }]);
    assert_eq!(status["offline"], offline);
}

/// With all siblings offline by hand SMT is off, whatever the switch says; `on` brings them up, and
/// back down.
#[test]
fn siblings_that_are_all_offline_by_hand_come_up_and_go_again() {
    let script = "
        echo 0 >$cpus/cpu1/online
        echo 0 >$cpus/cpu3/online
        before
        try off corun smt run --yes --state off -- cat $cpus/online
        try on corun smt run --yes --state on -- cat $cpus/online
        restored run
        try stay corun smt on --yes
        try while-on cat $cpus/online
        try restore corun smt restore
        restored restore
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    for (name, online) in [("off", "0,2"), ("on", "0-3"), ("while-on", "0-3")] {
        outcome.assert_status(name, 0);
        assert_eq!(outcome.printed(name), online, "{name}");
    }
    outcome.assert_status("restore", 0);
    outcome.assert_restored(&["run", "restore"]);
}
