//! Others meddle while corun has SMT switched: with its state files, its watchdog, the CPUs.

use corun_guest_tests::Guest;

use crate::switch::{TWO_BY_TWO, boot};

/// Starts a switch in the background and waits until its command runs.
const UNDER_WAY: &str = "
    under_way() {
        rm -f /tmp/runs
        mkfifo /tmp/runs
        \"$@\" sh -c 'echo >/tmp/runs; exec sleep 1000' &
        corun=$!
        read line </tmp/runs
        until pidof sleep >/dev/null; do usleep 10000; done
    }
    before
";

/// A killed corun's watchdog remembers what the state file said.
#[test]
fn a_state_file_that_is_lost_is_not_needed() {
    let script = format!(
        "{UNDER_WAY}
        under_way corun smt run --state off --
        rm -r $runtime
        kill -9 $corun
        wait $corun || true
        while pidof corun >/dev/null; do usleep 10000; done
        restored file-removed
        under_way corun smt run --state off --
        echo half >$runtime/smt-unfinished.json
        kill -9 $corun
        wait $corun || true
        restored file-damaged
        try run-loses-it corun smt run --state off -- sh -c 'rm -r /run/corun; exit 7'
        restored file-removed-by-the-command"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_status("run-loses-it", 7);
    outcome.assert_restored(&["file-removed", "file-damaged", "file-removed-by-the-command"]);
}

/// A state file that nobody can read is reported by every corun, and nothing is switched over it.
#[test]
fn a_state_file_that_cannot_be_read_is_told() {
    let script = "
        mkdir -p $runtime
        before
        for file in unfinished held; do
            echo half >$runtime/smt-$file.json
            try $file-topo corun topo
            try $file-status corun smt status
            try $file-off corun smt off
            try $file-restore corun smt restore
            rm $runtime/smt-$file.json
        done
        restored nothing-was-switched";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    assert!(outcome.said("unfinished-topo").contains("/run/corun/smt-unfinished.json"));
    for file in ["unfinished", "held"] {
        assert!(outcome.printed(&format!("{file}-status")).contains("cannot be read"));
        let path = format!("/run/corun/smt-{file}.json");
        for what in ["off", "restore"] {
            outcome.assert_refused(&format!("{file}-{what}"), 1, &[&path, "cannot be read"]);
        }
    }
    outcome.assert_restored(&["nothing-was-switched"]);
}

/// A change that somebody has undone by hand does not hide how it was before the next one.
#[test]
fn a_change_undone_by_hand_is_forgotten() {
    let script = "
        corun smt off
        echo on >$cpus/smt/control
        echo 0 >$cpus/cpu3/online
        before
        corun smt off
        corun smt restore
        restored before-the-second";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    outcome.assert_restored(&["before-the-second"]);
}

/// Somebody else switches meanwhile: it is told, and comes back all the same.
#[test]
fn what_others_switch_is_told() {
    let script = "
        before
        try run corun smt run --state off -- sh -c 'echo on >/sys/devices/system/cpu/smt/control'
        restored run
        try measure corun measure --smt-switch --blocks 6 --placement spread --copies -- \
            sh -c 'grep -q off /sys/devices/system/cpu/smt/control &&
                echo on >/sys/devices/system/cpu/smt/control || true'
        restored measure";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    outcome.assert_status("run", 0);
    assert!(outcome.said("run").contains("another process"), "{}", outcome.said("run"));
    outcome.assert_refused("measure", 1, &["another process"]);
    outcome.assert_restored(&["run", "measure"]);
}

/// corun inside corun: fine where nothing has to be switched, never a wait without end.
#[test]
fn a_command_may_call_corun_itself() {
    let script = "
        before
        try same corun smt run --state off -- corun smt run --state off -- echo same
        try other corun smt run --state off -- corun smt run --wait --state on -- echo other
        restored nested";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    outcome.assert_status("same", 0);
    assert_eq!(outcome.printed("same"), "same");
    outcome.assert_refused("other", 1, &["inside a corun"]);
    outcome.assert_restored(&["nested"]);
}

/// Neither a stopped watchdog nor a command that is stopped and continued keeps corun from ending.
#[test]
fn stopped_processes_do_not_keep_it_from_ending() {
    let script = format!(
        "{UNDER_WAY}
        watchdog() {{ for pid in $(pidof corun); do
            [ $pid = $corun ] || echo $pid
        done; }}
        under_way corun smt run --state off --
        kill -STOP $(watchdog)
        kill $corun
        wait $corun || true
        restored watchdog-stopped
        under_way corun smt run --state off --
        kill -STOP $(pidof sleep)
        kill -CONT $(pidof sleep)
        kill $corun
        wait $corun || true
        restored command-stopped"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_restored(&["watchdog-stopped", "command-stopped"]);
}

/// SMT off takes a whole core whose first thread is offline, and corun knows.
#[test]
fn a_core_without_its_first_thread_goes_as_a_whole() {
    let script = "
        echo 0 >$cpus/cpu2/online
        before
        try status corun smt status
        try online corun smt run --state off -- cat $cpus/online
        try measure corun measure --smt-switch --workload fib --sample-time 20ms --blocks 6 \
            --placement spread --cores 1
        restored all";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    assert!(outcome.printed("status").contains("SMT off would take away: CPUs 1,3"));
    assert_eq!(outcome.printed("online"), "0");
    outcome.assert_status("measure", 0);
    outcome.assert_restored(&["all"]);
}
