//! The subcommands, a file each.

mod kernel_worker;
mod measure;
mod topo;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

/// What corun can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure what each placement does to a program, with intervals and a verdict
    Measure(Box<measure::Arguments>),
    /// Show the machine: cores side by side with their siblings, caches, what may be used
    Topo(topo::Arguments),
    /// Run a built-in workload's kernel for another corun (not for people)
    #[command(hide = true)]
    KernelWorker(kernel_worker::Arguments),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// What the user should be told.
    pub fn run(self) -> Result<ExitCode, Problem> {
        match self {
            Self::Measure(arguments) => measure::run(&arguments),
            Self::Topo(arguments) => topo::run(&arguments),
            Self::KernelWorker(arguments) => Ok(kernel_worker::run(arguments)),
        }
    }
}
