//! corun: the effects of sharing a core on a program.
//!
//! The story: parse the command line, let one subcommand do its work, and end with its exit code.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod answer;
mod command;
mod consent;
mod documents;
mod exports;
mod first_steps;
mod foreground;
mod help;
mod helper_process;
mod interruption;
mod keeping;
mod options;
mod pager;
mod parse;
mod problem;
mod progress;
mod stack;
mod standard_input;
mod terminal;
mod values;
mod version;
mod yields;

use std::process::ExitCode;

use clap::{ColorChoice, Parser};

use command::Command;
use helper_process::HelperProcess;
use keeping::StoreArguments;

/// Measures what sharing a core (SMT, hyper-threading) does to a program.
#[derive(Debug, Parser)]
#[command(version = version::SHORT, long_version = version::long())]
#[command(about, max_term_width = 100)]
// Not the name that the file may have been given.
#[command(bin_name = "corun")]
struct CommandLine {
    /// Colour the output; auto heeds NO_COLOR, CLICOLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(flatten)]
    store: StoreArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    stack::with_enough(run)
}

fn run() -> ExitCode {
    interruption::outlive_large_files();
    if let Some(helper) = HelperProcess::asked() {
        return helper.run();
    }
    let (line, path) = match parse::command_line() {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    keeping::set(line.store, path, line.command.as_ref().is_some_and(Command::is_kept));
    let ended = line.command.map_or_else(first_steps::run, Command::run);
    standard_input::remark_on_unread_pipe();
    match ended {
        Ok(exit) => exit,
        Err(problem) => problem.report(),
    }
}
