//! SIGKILL at every step: nothing of corun lives on to clean up but its watchdog, and everything
//! comes back; without the watchdog the next corun says so, and mends it.

use corun_guest_tests::Guest;

use crate::{Switched, TWO_BY_TWO, boot};

/// A machine with much to lose: a CPU offline by hand, which the switch brings up; tasks and an
/// interrupt on the sibling that goes.
const MUCH_TO_LOSE: &str = "
    echo 0 >$cpus/cpu3/online
    bind 2; bind 3; bind 7
    echo 1 >/proc/irq/12/smp_affinity_list
    mkdir -p $runtime
    before
    corun smt run --yes --state off -- wake true
    restored unharmed

    # Kills a command right after each of its steps, `$kill` saying how, and notes what `$check` finds
    # wrong each time. On one CPU: see the program.
    at_each_step() {
        number=0
        while number=$((number + 1)); do
            killed=$(taskset 1 kill-at-step kill $number $kill --from smt-switch.lock -- \"$@\")
            printf '%s\\t%s\\n' \"$killed\" \"$($check)\" >>/results/steps
            [ \"${killed%%\t*}\" = killed ] || break
        done
    }

    # Kills commands at 50 times, evenly spread over how long they take, in hundredths of a second.
    at_many_times() {
        begun=$(hundredths)
        \"$@\"
        took=$(($(hundredths) - begun))
        for number in $(seq 50); do
            \"$@\" &
            corun=$!
            usleep $((number * took * 10000 / 50))
            $kill $corun 2>/dev/null || true
            wait $corun 2>/dev/null || true
            printf '%s\\t%s\\n' \"time $number\" \"$($check)\" >>/results/times
        done
    }

    hundredths() {
        read seconds rest </proc/uptime
        echo ${seconds%.*}${seconds#*.}
    }

    # Does what a user does who is told, and prints what went wrong with that or was lost.
    mended() {
        if [ -e $runtime/smt-unfinished.json ]; then
            corun topo 2>&1 >/dev/null | grep -q 'corun smt restore' || printf 'not reported; '
            corun smt restore 2>/dev/null || printf 'not mended; '
        fi
        lost
    }

    # The same for a change that was asked to stay.
    let_go() {
        kill-at-step unlocked $runtime/smt-switch.lock
        [ ! -e $runtime/smt-held.json ] || corun smt restore 2>/dev/null || printf 'not mended; '
        lost
    }
";

const RUN: &str = "corun smt run --yes --state off -- wake true";

/// The steps of the whole use of the switch, in their order, by what their names contain.
const STEPS: [&str; 14] = [
    "flock /run/corun/smt-switch.lock",
    // The watchdog; the snapshot has been taken.
    "clone",
    "open /run/corun/smt-unfinished.json.new",
    "fsync /run/corun/smt-unfinished.json.new",
    "rename to /run/corun/smt-unfinished.json",
    "fsync /run/corun",
    "write /sys/devices/system/cpu/smt/control off",
    // The command.
    "clone",
    "write /sys/devices/system/cpu/smt/control on",
    "write /proc/irq/12/smp_affinity_list 1",
    "sched_setaffinity another",
    "write /sys/devices/system/cpu/cpu3/online 0",
    "unlink /run/corun/smt-unfinished.json",
    "fsync /run/corun",
];

impl Switched {
    /// Asserts that nothing was lost at any step, and that these were among them, in this order.
    fn assert_steps(&self, expected: &[&str]) {
        let mut expected = expected.iter().peekable();
        let steps = self.0.text("steps");
        eprintln!("{steps}");
        for line in steps.lines() {
            let [how, step, lost] = fields(line);
            assert!(matches!(how, "killed" | "ended"), "{line}");
            assert_eq!(lost, "", "after {step}; {}", self.0.console);
            expected.next_if(|expected| step.starts_with(**expected));
        }
        assert_eq!(expected.next(), None, "{steps}");
        assert!(
            steps.lines().last().is_some_and(|end| end.starts_with("ended\texit 0")),
            "{steps}"
        );
    }

    /// Asserts that nothing was lost at any of the times.
    fn assert_times(&self) {
        let times = self.notes("times");
        assert_eq!(times.len(), 50);
        for (time, lost) in times {
            assert_eq!(lost, "", "{time}; {}", self.0.console);
        }
    }
}

fn fields(line: &str) -> [&str; 3] {
    let mut fields = line.splitn(3, '\t');
    [(); 3].map(|()| fields.next().unwrap_or_default())
}

/// corun killed at each step of `smt run`: the watchdog brings everything back.
#[test]
fn at_each_step_of_run() {
    let script = format!("{MUCH_TO_LOSE}\nkill= check=lost\nat_each_step {RUN}");
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_restored(&["unharmed"]);
    outcome.assert_steps(&STEPS);
}

/// corun killed at many times of `smt run`, also within a step: the same.
#[test]
fn at_many_times_of_run() {
    let script = format!("{MUCH_TO_LOSE}\nkill='kill -9' check=lost\nat_many_times {RUN}");
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_times();
}

/// corun and its watchdog killed at each step: the next corun says so, and `smt restore` mends it.
#[test]
fn with_the_watchdog_at_each_step() {
    let script = format!("{MUCH_TO_LOSE}\nkill=--children check=mended\nat_each_step {RUN}");
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_steps(&STEPS);
}

/// corun killed, and its watchdog in the middle of restoring: the same.
#[test]
fn with_the_watchdog_while_it_restores() {
    let script = format!(
        "{MUCH_TO_LOSE}
        kill_both() {{ kill -9 $1; usleep $((number * 1000)); killall -9 corun; }}
        kill=kill_both check=mended
        at_many_times {RUN}"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_times();
}

/// A change that is to stay, killed at each step, is either brought back or waits for `restore`.
#[test]
fn at_each_step_of_off() {
    let script = format!(
        "{MUCH_TO_LOSE}
        kill= check=let_go
        at_each_step corun smt off --yes"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    let change = STEPS.iter().take(7).copied();
    outcome.assert_steps(&change.chain(["rename to /run/corun/smt-held.json"]).collect::<Vec<_>>());
}

/// `smt restore` killed at each step can be called again.
#[test]
fn at_each_step_of_restore() {
    let script = format!(
        "{MUCH_TO_LOSE}
        corun smt off --yes
        off_again() {{ let_go; corun smt off --yes 2>/dev/null || printf 'not off again; '; }}
        kill= check=off_again
        at_each_step corun smt restore"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_steps(&["flock", STEPS[8], STEPS[9], "unlink /run/corun/smt-held.json"]);
}
