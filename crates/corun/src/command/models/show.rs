//! `corun models show`: one model in full.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_model::compare_published;
use corun_model::timing::TimingTable;
use corun_record::Exit;

use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model's name, or a model file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
    /// Write the model as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let model = corun_model::find(&arguments.name)?;
    let timings = TimingTable::of(&model)?;
    let description = corun_model::description(&model, &compare_published(&model)?, &timings);
    answer.give(description, corun_report::describe_model)?;
    Ok(code(Exit::Done))
}
