//! Processes that corun starts of itself: workers, loads and the watchdog of the SMT switch.
//!
//! Their grammar is apart from the users': workers start by the hundred, and building the users' takes longer than some of
//! them run.

mod audit_load;
mod kernel_worker;
mod smt_watchdog;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A helper process, by the first word of its command line.
#[derive(Debug, Parser)]
#[command(name = "corun", disable_help_subcommand = true)]
pub(crate) enum HelperProcess {
    /// Run a load for the corun that audits the scheduler
    AuditLoad,
    /// Run a built-in workload's kernel for another corun
    KernelWorker(kernel_worker::Arguments),
    /// Restore SMT should the corun that started this die
    SmtWatchdog(smt_watchdog::Arguments),
}

impl HelperProcess {
    /// The helper that this process is started as; none if its command line is a user's. A mistake in it ends the process.
    pub(crate) fn asked() -> Option<Self> {
        // Not every argument is Unicode; one that is not names no helper.
        let first = std::env::args_os().nth(1)?;
        Self::has_subcommand(first.to_str()?).then(Self::parse)
    }

    /// Does the helper's work until it ends.
    pub(crate) fn run(self) -> ExitCode {
        match self {
            Self::AuditLoad => audit_load::run(),
            Self::KernelWorker(arguments) => kernel_worker::run(arguments),
            Self::SmtWatchdog(arguments) => smt_watchdog::run(&arguments),
        }
    }
}
