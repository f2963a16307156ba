//! `corun models`: cores as data, a file each for what can be asked of them.

mod check;
mod diff;
mod list;
mod show;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_report::Destination;
use serde::Serialize;

use crate::problem::Problem;
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models: the machine of each, and whether it was checked
    List(list::Arguments),
    /// Say all about a model: every figure, what siblings do with it, where it is from
    Show(show::Arguments),
    /// Read model files, and say what is wrong with them
    Check(check::Arguments),
    /// Show two models side by side where they differ
    Diff(diff::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.action {
        Action::List(arguments) => list::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Check(arguments) => check::run(arguments),
        Action::Diff(arguments) => diff::run(arguments),
    }
}

/// Writes an answer as JSON to the file, or shows it.
fn answer(
    json: Option<&Path>,
    answer: &impl Serialize,
    shown: impl FnOnce(u16) -> String,
) -> Result<(), Problem> {
    match json {
        Some(path) => Ok(Destination::open(path)?.write(&corun_record::json_text(answer))?),
        None => Ok(terminal::show(&shown(terminal::width()))?),
    }
}
