//! `corun models diff`: where two models differ.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;

use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A model's name, or a model file that ends in .toml
    #[arg(value_name = "A")]
    a: String,
    /// The other one
    #[arg(value_name = "B")]
    b: String,
    /// Write the differences as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let (a, b) = (corun_model::find(&arguments.a)?, corun_model::find(&arguments.b)?);
    answer.give(corun_model::differences(&a, &b), corun_report::models_side_by_side)?;
    Ok(code(Exit::Done))
}
