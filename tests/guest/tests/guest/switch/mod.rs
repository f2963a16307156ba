//! `corun smt` on a real kernel: SMT is switched, and however that ends, everything comes back.
//!
//! Every scenario checks the machine before and afterwards: which CPUs are online, what the
//! switch says, the CPUs of interrupts and cpusets, the masks of tasks.

mod boots;
mod cpu_by_cpu;
mod cpusets;
mod gain;
mod killed;
mod meddling;
mod running;
mod states;
mod together;

use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};

const TWO_BY_TWO: Shape = Shape { sockets: 1, cores: 2, threads: 2 };

/// Long enough for many switches on a busy host.
const DEADLINE: Duration = Duration::from_secs(540);

/// What a scenario of the switch left behind.
struct Switched(Outcome);

/// Boots and runs a script after the library; `None` where no guest can be booted.
fn boot(guest: Guest, script: &str) -> Option<Switched> {
    let host = Host::or_skip()?;
    let script = format!("{}\n{script}", include_str!("library.sh"));
    let scenario = Scenario::new(script).file("/bin/kill-at-step", host.kill_at_step());
    let outcome =
        guest.deadline(DEADLINE).boot(host, &scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
    Some(Switched(outcome))
}

impl Switched {
    /// Asserts that everything was as before, each time and under each name that is expected.
    fn assert_restored(&self, expected: &[&str]) {
        let notes = self.notes("restored");
        let names: Vec<&str> = notes.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, expected, "{}", self.0.console);
        for (name, lost) in notes {
            assert_eq!(lost, "", "{name}; {}", self.0.console);
        }
    }

    /// Asserts the exit status of a command that was tried.
    fn assert_status(&self, name: &str, expected: i32) {
        let status = self.0.text(&format!("{name}.code")).trim();
        let (printed, said) = (self.0.text(&format!("{name}.out")), self.said(name));
        assert_eq!(status, expected.to_string(), "{name} printed {printed}; it said {said}");
    }

    /// Asserts that a command refused with this exit status, saying all of that.
    fn assert_refused(&self, name: &str, expected: i32, words: &[&str]) {
        self.assert_status(name, expected);
        for word in words {
            let said = self.said(name);
            assert!(said.contains(word), "{name} does not say {word}: {said}");
        }
    }

    /// The standard output of a command that was tried, without the end of its line.
    fn printed(&self, name: &str) -> &str {
        self.0.text(&format!("{name}.out")).trim_end()
    }

    /// The standard error of a command that was tried.
    fn said(&self, name: &str) -> &str {
        self.0.text(&format!("{name}.err"))
    }

    /// The lines of a file, each cut at its first tab.
    fn notes(&self, file: &str) -> Vec<(&str, &str)> {
        let lines = self.0.text(file).lines();
        lines.map(|line| line.split_once('\t').unwrap_or((line, ""))).collect()
    }
}
