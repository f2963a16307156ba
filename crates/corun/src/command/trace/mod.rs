//! `corun trace`: recording what a program executes, and inspecting what was recorded.

mod check;
mod convert;
mod info;
mod record;
mod writable;

use writable::Writable;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_trace::format::{FormatError, Trace};

use crate::command::traced::TracedArguments;
use crate::problem::Problem;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(override_usage = "corun trace -o FILE [OPTIONS] [--] COMMAND...\n       \
                            corun trace -o FILE [OPTIONS] --workload NAME\n       \
                            corun trace info|check|convert ...")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    record: Option<record::Arguments>,
    // Not a part of the former: clap does not see a group as given that has groups.
    #[command(flatten)]
    program: TracedArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what a trace holds: mix of instructions, footprint, hottest blocks
    Info(info::Arguments),
    /// Convert a trace to or from that of another simulator
    Convert(convert::Arguments),
    /// Read a whole trace and report its errors
    Check(check::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match (&arguments.action, &arguments.record) {
        (Some(Action::Info(arguments)), _) => info::run(arguments),
        (Some(Action::Convert(arguments)), _) => convert::run(arguments),
        (Some(Action::Check(arguments)), _) => check::run(arguments),
        (None, Some(options)) => record::run(options, &arguments.program),
        (None, None) => Err(Problem::usage(
            "expected a command to trace, found none",
            "For instance: corun trace -o gzip.trace -- gzip -kc FILE",
        )),
    }
}

/// Opens a trace, or says which file it was that is none.
fn open(path: &Path) -> Result<Trace, Problem> {
    Trace::open(path).map_err(|error| of_file(path, error))
}

fn of_file(path: &Path, error: FormatError) -> Problem {
    Problem::from(error).in_file(path)
}
