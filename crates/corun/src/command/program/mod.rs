//! A command whose program does not exist: mostly it was meant for a shell.
//!
//! A line in one word, such as `'xz -T{workers} x | wc -c'`, is split or given to a shell where it is measured, which is
//! said. Of `cd`, `NAME=VALUE program` and lines that are traced an error names the words that do the same.

mod shell;
mod workers;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use corun_record::{excerpt, shown};

pub(super) use self::workers::check_workers;

use self::shell::{Meant, OPERATORS, is_assignment, needs_shell, shell_of};
use crate::parse::line_of;
use crate::problem::{Problem, say};

/// Search path of a program.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SearchPath<'a> {
    /// The environment variable PATH.
    pub(super) path: Option<&'a OsStr>,
    /// Directory in which relative paths start, if not in corun's own directory.
    pub(super) directory: Option<&'a Path>,
    /// True if the subcommand has an option for variables of the environment.
    pub(super) has_env_option: bool,
}

/// Command to start for what was typed, where it is run with corun's own environment: a line in one word is split, or
/// given to a shell.
///
/// # Errors
/// As [`check`], of everything that is no line in one word.
pub(super) fn resolve(command: &[OsString]) -> Result<Vec<OsString>, Problem> {
    let path = std::env::var_os("PATH");
    resolve_on(command, SearchPath { path: path.as_deref(), ..SearchPath::default() })
}

/// As [`resolve`], on another search path.
///
/// # Errors
/// As [`resolve`].
pub(super) fn resolve_on(
    command: &[OsString],
    search: SearchPath<'_>,
) -> Result<Vec<OsString>, Problem> {
    let line = match command {
        [line] if !exists(line, search) => line.to_str().unwrap_or_default(),
        _ => "",
    };
    // Nobody types these, and the shell would say them again as they are.
    let line = if line.contains(is_control) { "" } else { line };
    let words = match Meant::by(line) {
        Meant::Words(words) => words.into_iter().map(OsString::from).collect(),
        // A single word of the shell, such as `cd`, is a line of which the rest is missing.
        Meant::Shell(shell) if line.contains(char::is_whitespace) || needs_shell(line) => {
            by_shell(shell, line)
        }
        _ => return check_on(command, search).map(|()| command.to_vec()),
    };
    check_on(&words, search)?;
    say(&format!("corun: runs as -- {}", line_of(&words)));
    Ok(words)
}

/// Command to start for a line, which a shell reads where it has syntax that words alone would lose.
///
/// # Errors
/// As [`check`].
pub(super) fn resolve_line(line: &str, search: SearchPath<'_>) -> Result<Vec<OsString>, Problem> {
    let shell = shell_of(line).or(needs_shell(line).then_some("sh"));
    let words: Vec<OsString> = match shell {
        Some(shell) => by_shell(shell, line),
        None => {
            shell_words::split(line).unwrap_or_default().into_iter().map(OsString::from).collect()
        }
    };
    check_on(&words, search).map(|()| words)
}

/// True of a control character that is no blank.
fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n')
}

fn by_shell(shell: &str, line: &str) -> Vec<OsString> {
    [shell, "-c", line].map(OsString::from).to_vec()
}

/// True if there is a program of this name for corun itself.
pub(crate) fn is_program(name: &OsStr) -> bool {
    let path = std::env::var_os("PATH");
    exists(name, SearchPath { path: path.as_deref(), ..SearchPath::default() })
}

/// Checks that a command is not one for a shell, where it is run with corun's own environment.
///
/// # Errors
/// If there is no such program and the name looks like a line or a part of a shell, with the words to write instead.
pub(super) fn check(command: &[OsString]) -> Result<(), Problem> {
    let path = std::env::var_os("PATH");
    check_on(command, SearchPath { path: path.as_deref(), ..SearchPath::default() })
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
        Meant::Program if is_here(name, search) => {
            return Err(in_this_directory(&said, arguments));
        }
        // That it does not exist is reported where it is started.
        Meant::Program => return Ok(()),
        Meant::Words(mut words) => {
            words.extend(arguments.iter().map(|word| word.to_string_lossy().into_owned()));
            format!(
                "Give the program and each argument as a word of its own: -- {}",
                line_of(words)
            )
        }
        Meant::Environment if search.has_env_option => {
            let is_variable = |word: &&OsString| is_assignment(&word.to_string_lossy());
            let count = command.iter().take_while(is_variable).count();
            let (variables, rest) = command.split_at(count);
            let option = |word| [OsString::from("--env"), OsString::clone(word)];
            let options = line_of(variables.iter().flat_map(option));
            format!("Set a variable with --env: {options} -- {}", line_of(rest))
                .trim_end()
                .to_owned()
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

/// True if there is a file of this name, executable or not: errors are reported where it is started.
fn exists(name: &OsStr, search: SearchPath<'_>) -> bool {
    // What is written for each number of workers is not known yet.
    let is_variable = name.as_bytes().windows(9).any(|it| it == b"{workers}");
    if is_variable && Meant::by(&name.to_string_lossy()) == Meant::Program {
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

/// Problem of a program that is not on the search path, but where it would start.
fn in_this_directory(name: &str, arguments: &[OsString]) -> Problem {
    let command = [OsString::from(format!("./{name}"))];
    Problem::failed(
        format!(
            "expected a program on the search path, found {} in this directory only",
            excerpt(&shown(name))
        ),
        format!("Name its place: -- {}", line_of(command.iter().chain(arguments))),
    )
}

/// True if a name without a folder is that of a file where the program would start.
fn is_here(name: &OsStr, search: SearchPath<'_>) -> bool {
    let here = search.directory.unwrap_or(Path::new("."));
    !name.is_empty()
        && !name.as_bytes().contains(&b'/')
        && here.join(name).metadata().is_ok_and(|it| it.is_file())
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
