//! `corun study`: published experiments, a file each for what can be asked of them.

mod list;
mod prediction;
mod run;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the studies: what each is about, how many figures it has, how long it takes
    List(list::Arguments),
    /// Say all about a study: its figures, how it is rerun here, what was wrongly concluded
    Show(show::Arguments),
    /// Rerun a study: published and measured here, side by side
    Run(run::Arguments),
}

impl Action {
    /// Whether its answer is kept in the store.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}

pub(super) fn run(action: &Action) -> Result<ExitCode, Problem> {
    match action {
        Action::List(arguments) => list::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Run(arguments) => run::run(arguments),
    }
}
