//! `corun smt run`: the command's end is corun's end, and everything comes back first.

use corun_guest_tests::Guest;

use crate::switch::{TWO_BY_TWO, boot};

/// However the command ends, corun ends with its status, as a shell would.
#[test]
fn the_status_of_the_command_is_coruns() {
    let script = "
        bind 2
        before
        run() { try $1 corun smt run --yes --state off -- wake sh -c \"$2\"; restored $1; }
        run succeeds 'cat $cpus/online'
        run fails 'exit 7'
        run is-killed 'kill -9 $$'
        run changes-state 'echo 0 >$cpus/cpu2/online'
        run leaves-a-child 'usleep 1000000000 >/dev/null 2>&1 &'
        pidof usleep >/results/left
        try is-missing corun smt run --yes --state off -- /no/such/program
        restored is-missing
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    for (name, status) in [
        ("succeeds", 0),
        ("fails", 7),
        ("is-killed", 128 + 9),
        ("changes-state", 0),
        ("leaves-a-child", 0),
        ("is-missing", 1),
    ] {
        outcome.assert_status(name, status);
    }
    assert_eq!(outcome.printed("succeeds"), "0,2");
    // Children that a command leaves behind are the user's, as without corun.
    assert_ne!(outcome.0.text("left"), "");
    outcome.assert_restored(&[
        "succeeds",
        "fails",
        "is-killed",
        "changes-state",
        "leaves-a-child",
        "is-missing",
    ]);
}

/// A signal meant for corun ends the command, and corun with it, after everything is back.
#[test]
fn signals_reach_the_command() {
    let script = r#"
        mkfifo /tmp/runs
        before
        for signal in INT TERM HUP; do
            # In the foreground: a shell starts what is in the background with SIGINT ignored.
            (read corun </tmp/runs; kill -$signal $corun) &
            code=0
            sh -c 'echo $$ >/tmp/corun
                exec corun smt run --yes --state off -- \
                    sh -c "cat /tmp/corun >/tmp/runs; exec usleep 1000000000"' || code=$?
            echo $code >/results/$signal
            restored $signal
            ! pidof usleep
        done
    "#;
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        assert_eq!(outcome.0.text(signal).trim(), (128 + number).to_string(), "{signal}");
    }
    outcome.assert_restored(&["INT", "TERM", "HUP"]);
}

/// When corun is killed, its command goes too, with the children that it has by then.
#[test]
fn a_killed_corun_takes_its_command_along() {
    let script = "
        mkfifo /tmp/runs
        before
        corun smt run --yes --state off -- \
            sh -c 'usleep 1000000000 & usleep 1000000000 & echo >/tmp/runs; wait' &
        corun=$!
        read line </tmp/runs
        pidof usleep | wc -w >/results/commands
        kill -9 $corun
        wait $corun || true
        restored killed
        # They have been sent SIGKILL; it may take them a moment.
        while pidof usleep; do true; done
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    assert_eq!(outcome.0.text("commands").trim(), "2");
    outcome.assert_restored(&["killed"]);
}

/// A watchdog that was killed is not needed as long as corun lives.
#[test]
fn a_watchdog_that_is_gone_is_not_missed() {
    let script = "
        bind 2
        before
        try run corun smt run --yes --state off -- wake sh -c '
            kill -9 $(grep -l smt-watch[d]og /proc/[0-9]*/cmdline | cut -d / -f 3)
            cat $cpus/online
            exit 3'
        restored run
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    outcome.assert_status("run", 3);
    assert_eq!(outcome.printed("run"), "0,2");
    assert_eq!(outcome.said("run"), "");
    outcome.assert_restored(&["run"]);
}
