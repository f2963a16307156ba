//! A command whose program does not exist: mostly it was meant for a shell, and no shell reads it.
//!
//! `"sleep 0.1"` in one word, `cd`, `a | b` and `NAME=VALUE program` are lines that a shell understands; the
//! error names the words that do the same without one, or the shell that does it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use corun_record::excerpt;

use crate::parse::line_of;
use crate::problem::{Problem, say};

/// Commands and words of the POSIX shell (POSIX.1-2024, 2.4 and 2.15) that are no programs.
const SHELL: &[&str] = &[
    ".", ":", "!", "{", "(", "alias", "bg", "break", "case", "cd", "command", "continue", "eval",
    "exec", "exit", "export", "fc", "fg", "for", "getopts", "hash", "if", "jobs", "read",
    "readonly", "return", "set", "shift", "time", "times", "trap", "type", "ulimit", "umask",
    "unalias", "unset", "until", "wait", "while",
];

/// Commands that only bash has (its manual, "Bash Builtin Commands" and "Compound Commands").
const BASH: &[&str] = &[
    "((",
    "[[",
    "bind",
    "builtin",
    "caller",
    "compgen",
    "complete",
    "declare",
    "dirs",
    "disown",
    "enable",
    "function",
    "help",
    "history",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "select",
    "shopt",
    "source",
    "suspend",
    "typeset",
];

/// Operators that a shell would not hand on.
const OPERATORS: &[&str] = &["|", "||", "&&", "|&", "&", ">", ">>", "<", "2>", "2>>", "2>&1", "&>"];

/// Search path of a program.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SearchPath<'a> {
    /// The environment variable PATH.
    pub(super) path: Option<&'a OsStr>,
    /// Directory in which relative paths start, if not in corun's own directory.
    pub(super) directory: Option<&'a Path>,
}

/// Checks that a command is not one for a shell, where it is run with corun's own environment.
///
/// # Errors
/// If there is no such program and the name looks like a line or a part of a shell, with the words to write instead.
pub(super) fn check(command: &[OsString]) -> Result<(), Problem> {
    let path = std::env::var_os("PATH");
    check_on(command, SearchPath { path: path.as_deref(), directory: None })
}

/// As [`check`], on another search path.
///
/// # Errors
/// As [`check`].
pub(super) fn check_on(command: &[OsString], search: SearchPath<'_>) -> Result<(), Problem> {
    let Some((name, arguments)) = command.split_first() else { return Ok(()) };
    if exists(name, search) {
        remark_on_operators(command);
        return Ok(());
    }
    let said = name.to_string_lossy();
    let next_step = match Meant::by(&said) {
        // That it does not exist is reported where it is started.
        Meant::Program => return Ok(()),
        Meant::Words(mut words) => {
            words.extend(arguments.iter().map(|word| word.to_string_lossy().into_owned()));
            format!(
                "Give the program and each argument as a word of its own: -- {}",
                line_of(words)
            )
        }
        Meant::Environment => format!("Set a variable with env: -- env {}", line_of(command)),
        Meant::Shell(shell) => {
            // A name that is no program is a line of the shell as it stands.
            let line = match arguments {
                [] => said.to_string(),
                _ => format!("{said} {}", line_of(arguments)),
            };
            let line = line_of([shell, "-c", &line]);
            format!("No shell reads the command; name one that does: -- {line}")
        }
    };
    Err(Problem::failed(
        format!(
            "expected a program, found nothing called {:?} on the search path or at that place",
            excerpt(&said)
        ),
        next_step,
    ))
}

/// Meaning of a name that no program has.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    /// A program that is not there.
    Program,
    /// A program with its arguments, in one word.
    Words(Vec<String>),
    /// A variable to set before the program.
    Environment,
    /// A line for this shell.
    Shell(&'static str),
}

impl Meant {
    fn by(name: &str) -> Self {
        let first = name.split_whitespace().next().unwrap_or_default();
        if BASH.contains(&first) {
            return Self::Shell("bash");
        }
        let is_syntax = |character: char| "|&;<>()$`*?\"'\\~#".contains(character);
        if SHELL.contains(&first) || OPERATORS.contains(&first) {
            return Self::Shell("sh");
        }
        let has_spaces = name.contains(char::is_whitespace);
        if is_assignment(first) {
            return if has_spaces { Self::Shell("sh") } else { Self::Environment };
        }
        match shell_words::split(name) {
            Ok(words) if has_spaces && !name.contains(is_syntax) && !words.is_empty() => {
                Self::Words(words)
            }
            _ if name.contains(is_syntax) => Self::Shell("sh"),
            _ => Self::Program,
        }
    }
}

/// True if a word is `NAME=VALUE`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    })
}

/// True if there is a file of this name, executable or not: errors are reported where it is started.
fn exists(name: &OsStr, search: SearchPath<'_>) -> bool {
    // What is written for each number of workers is not known yet.
    if name.as_bytes().windows(9).any(|it| it == b"{workers}") {
        return true;
    }
    let here = search.directory.unwrap_or(Path::new("."));
    if name.is_empty() {
        return false;
    }
    if name.as_bytes().contains(&b'/') {
        return here.join(name).symlink_metadata().is_ok();
    }
    let path = search.path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let is_there =
        |folder: PathBuf| here.join(folder).join(name).metadata().is_ok_and(|it| !it.is_dir());
    std::env::split_paths(path).any(is_there)
}

/// Says of an operator of the shell that it reaches the program as a word.
fn remark_on_operators(command: &[OsString]) {
    let operator = command.iter().find(|word| OPERATORS.iter().any(|it| *word == OsStr::new(it)));
    if let Some(operator) = operator {
        let operator = operator.to_string_lossy();
        let program = excerpt(&command[0].to_string_lossy());
        say(&format!(
            "corun: `{operator}` is an argument of {program} here, since no shell reads the command; for one: -- sh \
             -c '...'"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_shell_is_distinguished_from_a_missing_program() {
        let words = |words: &[&str]| Meant::Words(words.iter().map(|&it| it.to_owned()).collect());
        for (name, meant) in [
            ("slep", Meant::Program),
            ("./missing", Meant::Program),
            ("", Meant::Program),
            ("sleep 0.1", words(&["sleep", "0.1"])),
            ("./run -j {workers}", words(&["./run", "-j", "{workers}"])),
            ("cd", Meant::Shell("sh")),
            ("ulimit -n 64", Meant::Shell("sh")),
            ("source", Meant::Shell("bash")),
            ("[[ -e x ]]", Meant::Shell("bash")),
            ("a | b", Meant::Shell("sh")),
            ("a&&b", Meant::Shell("sh")),
            ("ls *.c", Meant::Shell("sh")),
            ("echo 'unbalanced", Meant::Shell("sh")),
            ("OMP_NUM_THREADS=4", Meant::Environment),
            ("OMP_NUM_THREADS=4 ./run", Meant::Shell("sh")),
            ("a-b=c", Meant::Program),
        ] {
            assert_eq!(Meant::by(name), meant, "{name}");
        }
    }
}
