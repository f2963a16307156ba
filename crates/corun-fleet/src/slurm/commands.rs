//! Running Slurm's commands, behind a trait for tests.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

use corun_machine::descendants::{Mark, Orphans};

use crate::error::FleetError;

/// Runner of `sbatch`, `squeue`, `scancel`, `sinfo` and `scontrol`.
pub trait Commands {
    /// Runs a command to its end, with no shell between.
    ///
    /// # Errors
    /// If it cannot be started.
    fn run(&self, program: &str, arguments: &[OsString]) -> Result<Finished, FleetError>;
}

/// End of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// True if it ended with status 0.
    pub is_success: bool,
    /// Standard output.
    pub output: String,
    /// Standard error, or how it ended where that is empty.
    pub errors: String,
}

impl Finished {
    /// The output, if the command succeeded.
    pub(crate) fn output_of(self, program: &str) -> Result<String, FleetError> {
        match self.is_success {
            true => Ok(self.output),
            false => Err(FleetError::Slurm { program: program.to_owned(), reason: self.errors }),
        }
    }
}

/// The commands on the search path.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlurmCommands;

/// Options of Slurm's commands that their users may set in the environment: what names who pays stays, what changes the meaning of a command does not.
const CHANGING: [&str; 4] = ["SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_"];
const STAYING: [&str; 3] = ["SBATCH_ACCOUNT", "SBATCH_QOS", "SBATCH_RESERVATION"];

impl Commands for SlurmCommands {
    fn run(&self, program: &str, arguments: &[OsString]) -> Result<Finished, FleetError> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if CHANGING.iter().any(|it| text.starts_with(it)) && !STAYING.contains(&text.as_ref()) {
                command.env_remove(&name);
            }
        }
        // Whole lists of waiting array tasks, which squeue(1) cuts at 64 characters.
        command.env("SLURM_BITSTR_LEN", "0");
        // One that waits for a controller ends with this process.
        let mark = Mark::prepare(Orphans::Left);
        let running = mark.spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let output = running.and_then(Child::wait_with_output);
        mark.end_all();
        let output = output
            .map_err(|source| FleetError::NoCommand { program: program.to_owned(), source })?;
        let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(Finished {
            is_success: output.status.success(),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: if errors.is_empty() { output.status.to_string() } else { errors },
        })
    }
}

/// Answers that a test prepared, and what was asked.
#[cfg(test)]
pub(crate) mod fake {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use super::*;

    #[derive(Debug, Default)]
    pub(crate) struct Fake {
        answers: RefCell<VecDeque<Finished>>,
        asked: RefCell<Vec<String>>,
    }

    impl Fake {
        pub(crate) fn answering<const N: usize>(answers: [Result<&str, &str>; N]) -> Self {
            let finished = |answer: Result<&str, &str>| Finished {
                is_success: answer.is_ok(),
                output: answer.unwrap_or_default().to_owned(),
                errors: answer.err().unwrap_or_default().to_owned(),
            };
            Self { answers: RefCell::new(answers.map(finished).into()), asked: RefCell::default() }
        }

        pub(crate) fn asked(&self) -> String {
            self.asked.borrow().join("\n")
        }
    }

    impl Commands for Fake {
        fn run(&self, program: &str, arguments: &[OsString]) -> Result<Finished, FleetError> {
            let words = arguments.iter().map(|it| it.to_str().unwrap().to_owned());
            let line = shell_words::join(std::iter::once(program.to_owned()).chain(words));
            self.asked.borrow_mut().push(line);
            Ok(self.answers.borrow_mut().pop_front().expect("an answer for each command"))
        }
    }
}
