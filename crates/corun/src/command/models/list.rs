//! `corun models list`: the models that come with corun.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_model::compare_published;
use corun_record::{Exit, ModelList};

use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the list as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let mut models = Vec::new();
    for model in corun_model::all()? {
        models.push(corun_model::listed(&model, &compare_published(&model)?));
    }
    answer.give(ModelList { models }, corun_report::list_models)?;
    Ok(code(Exit::Done))
}
