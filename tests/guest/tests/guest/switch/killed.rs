//! SIGKILL at every step: nothing of corun lives on to clean up but its watchdog, and everything
//! comes back; without the watchdog the next corun says so, and mends it.

use corun_guest_tests::Guest;

use crate::switch::{Switched, TWO_BY_TWO, boot};

const MUCH_TO_LOSE: &str = include_str!("killed.sh");

const RUN: &str = "corun smt run --yes --state off -- wake true";

const MEASURE: &str =
    "corun measure --smt-switch --yes --quiet --blocks 6 --placement free --copies 1 -- wake true";

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
    }

    /// Asserts that in the end nothing was left to kill.
    fn assert_ended(&self) {
        let steps = self.0.text("steps");
        assert!(steps.ends_with("ended\texit 0\t\n"), "{steps}");
    }

    /// Asserts that nothing was lost at any of the times, and that a switch was under way at many.
    fn assert_times(&self) {
        let times = self.notes("times");
        assert_eq!(times.len() as u64, times_to_kill());
        assert!(self.notes("under-way").len() >= times.len() / 5, "{}", self.0.console);
        for (time, lost) in times {
            assert_eq!(lost, "", "{time}; {}", self.0.console);
        }
    }
}

/// The number of times at which a command is killed.
fn times_to_kill() -> u64 {
    corun_testing::repetitions(50, 15)
}

/// A script that kills `command` at many times.
fn at_many_times(before: &str, command: &str) -> String {
    format!("{MUCH_TO_LOSE}\ntimes={}\n{before}\nat_many_times {command}", times_to_kill())
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
    outcome.assert_ended();
}

/// corun killed at many times of `smt run`, also within a step: the same.
#[test]
fn at_many_times_of_run() {
    let script = at_many_times("kill='kill -9' check=lost", RUN);
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_times();
}

/// corun and its watchdog killed at each step: the next corun says so, and `smt restore` mends it.
#[test]
fn with_the_watchdog_at_each_step() {
    let script = format!("{MUCH_TO_LOSE}\nkill=--children check=mended\nat_each_step {RUN}");
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_steps(&STEPS);
    outcome.assert_ended();
    assert!(outcome.notes("mended").len() >= 10, "{}", outcome.0.console);
}

/// corun killed, and its watchdog in the middle of restoring: the same.
#[test]
fn with_the_watchdog_while_it_restores() {
    let kill_both = "kill_both() { kill -9 $1; usleep $((number % 10 * 5000)); killall -9 corun; }";
    let script = at_many_times(&format!("{kill_both}\nkill=kill_both check=mended"), RUN);
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_times();
    assert!(!outcome.notes("mended").is_empty(), "{}", outcome.0.console);
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
    outcome.assert_ended();
}

/// `smt restore` killed at each step can be called again.
#[test]
fn at_each_step_of_restore() {
    let script = format!(
        "{MUCH_TO_LOSE}
        off() {{ corun smt off --yes 2>/dev/null || printf 'not off; '; wake true; }}
        off_again() {{ let_go; off; }}
        off
        kill= check=off_again
        at_each_step corun smt restore"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    let change_back = &STEPS[8..12];
    outcome
        .assert_steps(&[&STEPS[..1], change_back, &["unlink /run/corun/smt-held.json"]].concat());
    outcome.assert_ended();
}

/// `measure --smt-switch` killed at each step up to the end of its first transition back.
#[test]
fn at_each_step_of_measure() {
    let script = format!(
        "{MUCH_TO_LOSE}
        # Of steps that others do not see the first of each kind.
        among=/tmp/among
        taskset 1 kill-at-step list --from smt-switch.lock -- {MEASURE} |
            awk '/corun|another/ || $2 ~ /^.(sys|proc)/ || !seen[$1]++
                $1 == \"write\" && /cpu3/ {{ exit }}' >$among
        kill= check=lost
        at_each_step {MEASURE}"
    );
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_steps(&[&STEPS[..7], &STEPS[8..12]].concat());
}

/// `measure --smt-switch` killed at many times of its first cycles.
#[test]
fn at_many_times_of_measure() {
    let script = at_many_times("kill='kill -9' check=lost part=4", MEASURE);
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), &script) else { return };
    outcome.assert_times();
}
