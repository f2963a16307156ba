//! `corun smt`: the switch of SMT: shown, used, restored.

mod change;
mod run;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_machine::switch::{self, Runtime, SmtStatus, SwitchOptions};
use corun_machine::{MachineError, RootFiles};
use corun_record::{Exit, Record};

use crate::answer::{Answer, this_machine};
use crate::options::JsonFile;
use crate::problem::{Problem, code, say};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    // Alone, it shows the status.
    #[command(flatten)]
    status: JsonFile,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the switch, who took which CPU offline, and what depends on the siblings
    Status(JsonFile),
    /// Take the siblings offline, until `corun smt restore`
    Off(change::Arguments),
    /// Bring the siblings online, until `corun smt restore`
    On(change::Arguments),
    /// Bring back exactly what corun has changed: `smt off`, `smt on`, or a corun that was killed
    Restore(RestoreArguments),
    /// Run a command with SMT in a state, and bring everything back when it ends
    Run(run::Arguments),
}

#[derive(Debug, Args)]
struct RestoreArguments {
    /// Wait while another corun is switching, instead of refusing
    #[arg(long)]
    wait: bool,
}

/// Arguments of using the switch; the same for all who switch.
#[derive(Debug, Args)]
pub(super) struct SwitchArguments {
    /// Do not ask before switching (a question is only asked on a terminal)
    #[arg(short, long)]
    pub yes: bool,
    /// Switch although cpusets of version 1 lose CPUs: they are put back afterwards
    #[arg(long)]
    pub repair_cpusets: bool,
    /// Wait while another corun is switching, instead of refusing
    #[arg(long)]
    pub wait: bool,
}

impl SwitchArguments {
    /// Options of the switch.
    pub(super) fn options(&self) -> SwitchOptions {
        SwitchOptions { repair_cpusets: self.repair_cpusets, wait: self.wait }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    use corun_record::SmtState::{Off, On};
    match &arguments.action {
        None => status(&arguments.status),
        Some(Action::Status(json)) => status(json),
        Some(Action::Off(arguments)) => change::run(arguments, Off),
        Some(Action::On(arguments)) => change::run(arguments, On),
        Some(Action::Restore(arguments)) => arguments.run(),
        Some(Action::Run(arguments)) => run::run(arguments),
    }
}

/// The switch and what hangs on it.
fn status(json: &JsonFile) -> Result<ExitCode, Problem> {
    let answer = Answer::open(json)?;
    let root = Path::new("/");
    let mut files = RootFiles::open(root)
        .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
    let status = SmtStatus::read(&mut files, &Runtime::of_system())
        .ok_or_else(|| MachineError::NoCpus { root: root.to_owned() })?;
    let record = Record { machine: Some(this_machine()?), ..answer.record(status) };
    answer.write(&record, |record, _| record.body.to_text())?;
    Ok(code(Exit::Done))
}

impl RestoreArguments {
    /// Restores what corun has changed.
    fn run(&self) -> Result<ExitCode, Problem> {
        let options = SwitchOptions { wait: self.wait, ..SwitchOptions::default() };
        let restored = switch::restore_left(&options)?;
        let left = match restored.was_unfinished {
            true => "what a killed corun had left",
            false => "what corun had switched",
        };
        say(&format!("corun: {left} is as it was before, SMT is {}", restored.smt));
        Ok(code(Exit::Done))
    }
}
