//! `corun smt`: the switch of SMT, a file each for what can be asked of it.

mod change;
mod restore;
mod run;
mod status;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_machine::switch::SwitchOptions;

use crate::problem::Problem;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the switch, who took which CPU offline, and what depends on the siblings
    Status(status::Arguments),
    /// Take the siblings offline, until `corun smt restore`
    Off(change::Arguments),
    /// Bring the siblings online, until `corun smt restore`
    On(change::Arguments),
    /// Bring back exactly what corun has changed: `smt off`, `smt on`, or a corun that was killed
    Restore(restore::Arguments),
    /// Run a command with SMT in a state, and bring everything back when it ends
    Run(run::Arguments),
}

/// How the switch is to be used; the same for all who switch.
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
    /// What the switch is to do.
    pub(super) fn options(&self) -> SwitchOptions {
        SwitchOptions { repair_cpusets: self.repair_cpusets, wait: self.wait }
    }
}

pub(super) fn run(action: Action) -> Result<ExitCode, Problem> {
    use corun_record::SmtState::{Off, On};
    match action {
        Action::Status(arguments) => status::run(&arguments),
        Action::Off(arguments) => change::run(&arguments, Off),
        Action::On(arguments) => change::run(&arguments, On),
        Action::Restore(arguments) => restore::run(&arguments),
        Action::Run(arguments) => run::run(&arguments),
    }
}
