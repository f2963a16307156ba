//! `corun models`: cores as data, a file each for what can be asked of them.

mod check;
mod diff;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the models: the machine of each, and whether it was checked
    List(list::Arguments),
    /// Say all about a model: every figure, what siblings do with it, where it is from
    Show(show::Arguments),
    /// Read model files, and say what is wrong with them
    Check(check::Arguments),
    /// Show two models side by side where they differ
    Diff(diff::Arguments),
}

pub(super) fn run(action: &Action) -> Result<ExitCode, Problem> {
    match action {
        Action::List(arguments) => list::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Check(arguments) => check::run(arguments),
        Action::Diff(arguments) => diff::run(arguments),
    }
}
