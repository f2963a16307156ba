//! `corun runs tag`: names for runs.

use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use corun_store::Wanted;

use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The run: an id of `corun runs list`, the beginning of one, a tag, `last`, `last~1`
    #[arg(value_name = "RUN")]
    run: String,
    /// The tags; where several runs have one, it means the newest of them
    #[arg(value_name = "TAG", required = true)]
    tags: Vec<String>,
    /// Take the tags away from the run
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mut store = super::store()?;
    let number = store.find(&arguments.run, Wanted::Finished)?;
    store.tag(number, &arguments.tags, !arguments.remove)?;
    Ok(code(Exit::Done))
}
