//! `corun runs note`: a line beside a run.

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
    /// The note, in place of an older one; an empty one takes it away
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mut store = super::store()?;
    let number = store.find(&arguments.run, Wanted::Finished)?;
    store.note(number, &arguments.text.join(" "))?;
    Ok(code(Exit::Done))
}
