//! `corun models`: cores as data, a file each for what can be asked of them.

mod check;
mod diff;
mod list;
mod show;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_model::{Comparison, CoreModel};
use corun_report::Destination;
use serde::Serialize;

use crate::problem::Problem;
use crate::terminal;

#[derive(Debug, Args)]
pub struct Arguments {
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

pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.action {
        Action::List(arguments) => list::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Check(arguments) => check::run(arguments),
        Action::Diff(arguments) => diff::run(arguments),
    }
}

/// The published figures of the model's core beside the model's own.
pub(super) fn compared(model: &CoreModel) -> Result<Vec<Comparison>, Problem> {
    corun_model::compare_published(model).map_err(|error| {
        Problem::failed(error.to_string(), "This is a mistake in corun: please report it.")
    })
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
