//! `corun runs`: the runs that are kept, a file each for what can be done with them.

mod delete;
mod export;
mod import;
mod list;
mod note;
mod selection;
mod show;
mod tag;

use std::process::ExitCode;

use clap::Subcommand;
use corun_store::Store;

use crate::keeping;
use crate::problem::Problem;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the runs that are kept, the newest first
    List(list::Arguments),
    /// Show a run's answer as its command showed it
    Show(show::Arguments),
    /// Give a run tags, by which it can be named
    Tag(tag::Arguments),
    /// Write a note beside a run
    Note(note::Arguments),
    /// Delete runs
    Delete(delete::Arguments),
    /// Write runs as JSON, as CSV with a row a sample, or as a directory for other programs
    Export(export::Arguments),
    /// Keep runs of other machines, and what hyperfine measured
    Import(import::Arguments),
}

pub(super) fn run(action: &Action) -> Result<ExitCode, Problem> {
    match action {
        Action::List(arguments) => list::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Tag(arguments) => tag::run(arguments),
        Action::Note(arguments) => note::run(arguments),
        Action::Delete(arguments) => delete::run(arguments),
        Action::Export(arguments) => export::run(arguments),
        Action::Import(arguments) => import::run(arguments),
    }
}

/// The store, which has to be there.
fn store() -> Result<Store, Problem> {
    keeping::existing()?.ok_or_else(|| {
        Problem::usage(
            "expected runs that are kept, found none",
            "`corun measure` and its like keep what they answer; `corun runs import FILE` keeps files.",
        )
    })
}
