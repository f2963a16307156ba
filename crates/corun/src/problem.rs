//! A problem as the user meets it: what was expected and found, what to do, and an exit code.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use corun_record::{Actionable, Exit};

/// Anything that ends a subcommand before its work is done.
#[derive(Debug)]
pub struct Problem {
    sentence: String,
    next_step: String,
    exit: Exit,
}

impl Problem {
    /// A command line that has no meaning.
    pub fn usage(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::Usage }
    }

    /// Something that failed on the way.
    pub fn failed(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::Failed }
    }

    /// Something that this machine cannot do.
    pub fn not_possible(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::NotPossible }
    }

    /// The user ended it before there was anything to keep.
    pub fn interrupted(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::Interrupted }
    }

    /// The user was asked, and did not say yes.
    pub fn declined() -> Self {
        Self {
            sentence: "nothing was changed, because the answer was not yes".to_owned(),
            next_step: "Add --yes to go on without a question.".to_owned(),
            exit: Exit::Interrupted,
        }
    }

    /// The same problem, of this file.
    pub fn about(self, file: &Path) -> Self {
        Self { sentence: format!("{}: {}", file.display(), self.sentence), ..self }
    }

    /// Says it on standard error and gives the exit code.
    pub fn tell(&self) -> ExitCode {
        say(&format!("corun: {}\n  {}", self.sentence, self.next_step));
        code(self.exit)
    }
}

impl<E: Actionable> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { sentence: error.to_string(), next_step: error.next_step(), exit: error.exit() }
    }
}

/// Says something on standard error if anybody listens; the exit code is told in any case.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The process's exit code for an end.
pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}
