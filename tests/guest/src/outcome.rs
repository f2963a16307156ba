//! How a boot ended: what the scenario sent back, or why there is nothing to check.

use std::io;
use std::time::Duration;

use serde_json::Value;

use crate::{ForeignLoad, Results, ResultsError};

/// What a guest left.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The exit code and the files of the scenario.
    pub results: Results,
    /// What the kernel and the scenario printed.
    pub console: String,
    /// How disturbed the host was.
    pub load: ForeignLoad,
}

/// Why a boot has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// QEMU, or a file for it, gave error.
    #[error("cannot run QEMU: {source}; it said: {said:?}")]
    Qemu {
        /// What went wrong.
        source: io::Error,
        /// QEMU's standard error.
        said: String,
    },
    /// More pins than CPUs, or a pin beyond the host's cores.
    #[error("expected at most {cpus} pins, each below {cores}, found {pins:?}")]
    Pins {
        /// Logical CPUs of the guest.
        cpus: u32,
        /// Cores of the host.
        cores: usize,
        /// What was asked for.
        pins: Vec<usize>,
    },
    /// The guest did not end in time and was killed.
    #[error("expected the guest to end within {deadline:?}, killed it; its console:\n{console}")]
    Deadline {
        /// The time it had.
        deadline: Duration,
        /// What it printed.
        console: String,
    },
    /// The guest stopped doing anything at all, several times.
    #[error("the guest froze in each of {attempts} boots; its console:\n{console}")]
    Frozen {
        /// How often it was booted.
        attempts: u32,
        /// What it printed the last time.
        console: String,
    },
    /// The guest's kernel gave up.
    #[error("the guest's kernel panicked; its console:\n{0}")]
    KernelPanic(String),
    /// The guest ended before it had sent everything.
    #[error("{source}; it said: {said:?}; the guest's console:\n{console}")]
    Results {
        /// What is wrong with the results.
        source: ResultsError,
        /// QEMU's standard error.
        said: String,
        /// What the guest printed.
        console: String,
    },
}

impl Outcome {
    /// The file `name` of the scenario as text.
    ///
    /// # Panics
    /// If the scenario left no such file, or no text in it; the message shows the console.
    pub fn text(&self, name: &str) -> &str {
        let bytes = self.results.files.get(name).unwrap_or_else(|| {
            panic!(
                "expected a file {name}, found {:?}; exit code {}, console:\n{}",
                self.results.files.keys(),
                self.results.exit,
                self.console
            )
        });
        std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{name} is no text: {error}"))
    }

    /// The file `name` of the scenario as JSON.
    ///
    /// # Panics
    /// As [`Outcome::text`], or if the text is not JSON.
    pub fn json(&self, name: &str) -> Value {
        let text = self.text(name);
        serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{name} is no JSON: {error}\n{text}"))
    }
}
