//! What sharing a core does to a program.
//!
//! The story: parse the command line, let one subcommand do its work, and end with its exit code.

mod command;
mod consent;
mod exports;
mod foreground;
mod input;
mod interruption;
mod problem;
mod progress;
mod seed;
mod terminal;
mod values;

use std::process::ExitCode;

use clap::Parser;

use command::Command;

/// Measures what sharing a core (SMT, hyper-threading) does to a program.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match CommandLine::parse().command.run() {
        Ok(exit) => exit,
        Err(problem) => problem.tell(),
    }
}
