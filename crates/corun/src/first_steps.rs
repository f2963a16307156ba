//! `corun` alone: what this machine is, and what to try next.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use corun_machine::doctor::{Report, Sleep};
use corun_machine::{CpuLimits, Machine, MachineError, RootFiles, overview};
use corun_record::Exit;

use crate::problem::{Problem, code};
use crate::terminal;

/// Long enough to see a CPU that other work keeps busy, short enough not to be waited for.
const WATCH: Duration = Duration::from_millis(250);

/// Commands to try, each with what it answers.
const STEPS: [(&str, &str); 4] = [
    ("corun threads -- ./solver -j {workers}", "how many workers, and on which CPUs"),
    ("corun measure -- COMMAND", "what sharing a core does to a program"),
    ("corun doctor", "all that would distort a measurement here"),
    ("corun --help", "all commands"),
];

/// The step where there are no siblings to measure on.
const WITHOUT_SIBLINGS: (&str, &str) =
    ("corun predict --model zen5 -- COMMAND", "what the siblings of another core would do");

/// Shows both; a machine that cannot be read is no failure here.
///
/// # Errors
/// If the text cannot be shown.
pub(crate) fn run() -> Result<ExitCode, Problem> {
    let (mut text, has_siblings) = match this_machine() {
        Ok((lines, has_siblings)) => {
            let wrapped = lines.iter().map(|line| wrapped(line));
            (wrapped.collect::<Vec<_>>().join("\n"), has_siblings)
        }
        Err(error) => (wrapped(&unknown(&error)), true),
    };
    text.push_str("\n\nTry next:\n");
    let [threads, measure, others @ ..] = STEPS;
    let measure = if has_siblings { measure } else { WITHOUT_SIBLINGS };
    for (command, purpose) in [threads, measure].into_iter().chain(others) {
        text.push_str(&step(command, purpose));
    }
    terminal::show(&text)?;
    Ok(code(Exit::Done))
}

/// The three lines, and whether any core has two CPUs online.
fn this_machine() -> Result<([String; 3], bool), MachineError> {
    let root = Path::new("/");
    let mut files = RootFiles::open(root)
        .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
    let machine = Machine::from_files(&mut files).ok_or_else(|| MachineError::none_below(root))?;
    let report = Report::from_files(&mut files, Some(&mut Sleep(WATCH)))
        .ok_or_else(|| MachineError::none_below(root))?;
    let limits = CpuLimits::read(&mut files, &machine);
    let online = machine.online();
    let has_siblings = machine.cores.iter().any(|core| core.cpus.intersection(&online).len() > 1);
    Ok((overview(&machine, &limits, &report), has_siblings))
}

fn unknown(error: &MachineError) -> String {
    let cpus = std::thread::available_parallelism().map_or_else(
        |_| String::new(),
        |cpus| format!(" This process may use {cpus} CPUs at once."),
    );
    format!("This machine cannot be described: {error}.{cpus}")
}

/// A command with its purpose beside it, or below it where the terminal is narrow.
fn step(command: &str, purpose: &str) -> String {
    let command_columns = STEPS.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let purpose_columns = STEPS.iter().map(|(_, purpose)| purpose.len()).max().unwrap_or(0);
    match 4 + command_columns + purpose_columns <= terminal::columns() {
        true => format!("  {command:<command_columns$}  {purpose}\n"),
        false => format!("  {command}\n      {purpose}\n"),
    }
}

fn wrapped(line: &str) -> String {
    textwrap::fill(line, terminal::columns())
}
