//! A problem as the user meets it: what was expected and found, what to do, and an exit code.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use corun_record::{Actionable, Exit, on_lines, shortened, shown};

use crate::progress::aside;

/// Anything that ends a subcommand before its work is done.
#[derive(Debug)]
pub(crate) struct Problem {
    sentence: String,
    next_step: String,
    exit: Exit,
}

impl Problem {
    /// A usage error: the command line is not valid.
    pub(crate) fn usage(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::Usage }
    }

    /// Something that failed on the way.
    pub(crate) fn failed(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::Failed }
    }

    /// A file that was named and cannot be read, or a program that cannot be run.
    pub(crate) fn unreadable(error: &std::io::Error, next_step: impl Into<String>) -> Self {
        Self { exit: Exit::of_file(error), ..Self::failed(error.to_string(), next_step) }
    }

    /// The user ended it before there was anything to keep.
    pub(crate) fn interrupted(sentence: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), next_step: next_step.into(), exit: Exit::Interrupted }
    }

    /// The user was asked, and did not say yes.
    pub(crate) fn declined() -> Self {
        Self {
            sentence: "nothing was changed, because the answer was not yes".to_owned(),
            next_step: "Add --yes to go on without a question.".to_owned(),
            exit: Exit::Interrupted,
        }
    }

    /// The problem, of this file.
    pub(crate) fn in_file(self, file: &Path) -> Self {
        Self { sentence: format!("{}: {}", shown(file), self.sentence), ..self }
    }

    /// The problem with another next step.
    pub(crate) fn with_next_step(self, next_step: impl Into<String>) -> Self {
        Self { next_step: next_step.into(), ..self }
    }

    /// Says it on standard error and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        complain(&self.to_string());
        code(self.exit)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next_step = out_of_descriptors(&self.sentence).unwrap_or(&self.next_step);
        write!(formatter, "corun: {}\n  {next_step}", below(&self.sentence))
    }
}

/// Next step where the system gives no more descriptors, whatever they were for: the code that asked for one knows of
/// other reasons only.
fn out_of_descriptors(sentence: &str) -> Option<&'static str> {
    let is_of = |number: i32| sentence.contains(&format!("(os error {number})"));
    if is_of(libc::EMFILE) {
        return Some("Raise the limit of open files (ulimit -n).");
    }
    is_of(libc::ENFILE)
        .then_some("Close files of other programs, or raise the system's limit (fs.file-max).")
}

impl<E: Actionable> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { sentence: error.to_string(), next_step: error.next_step(), exit: error.exit() }
    }
}

/// The most characters of a line of an error.
const MAX_LINE_CHARS: usize = 2000;

/// Says something on standard error if possible; the exit code is returned in any case. Nothing in it
/// controls a terminal, whatever its origin.
#[expect(clippy::disallowed_methods, reason = "this is the writer")]
pub(crate) fn say(text: &str) {
    aside(|| {
        let _ = writeln!(std::io::stderr(), "{}", on_lines(text));
    });
}

/// As [`say`], with lines that do not fill a screen each.
pub(crate) fn complain(text: &str) {
    let lines: Vec<_> = text.split('\n').map(|line| shortened(line, MAX_LINE_CHARS)).collect();
    say(&lines.join("\n"));
}

/// Lines that cannot be taken for corun's own: all but the first are indented, as what it quotes.
fn below(text: &str) -> String {
    let indented = |line: &str| match line.is_empty() || line.starts_with("    ") {
        true => line.to_owned(),
        false => format!("    {}", line.trim_start()),
    };
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    std::iter::once(first).chain(lines.map(indented)).collect::<Vec<_>>().join("\n")
}

/// The process's exit code for an end.
pub(crate) fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lacks_descriptors_is_told_of_their_limit() {
        let said = |number: i32| {
            let error = std::io::Error::from_raw_os_error(number);
            Problem::failed(format!("no tracer: {error}"), "Take another tracer.").to_string()
        };
        assert!(said(libc::EMFILE).ends_with("(ulimit -n)."), "{}", said(libc::EMFILE));
        assert!(said(libc::ENFILE).ends_with("(fs.file-max)."), "{}", said(libc::ENFILE));
        assert!(said(libc::EPERM).ends_with("Take another tracer."), "{}", said(libc::EPERM));
    }
}
