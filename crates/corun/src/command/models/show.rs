//! `corun models show`: one model in full.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use corun_sim::model::{self, CoreModel};
use serde::Serialize;

use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The model's name, or a model file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
    /// Write the model as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Shown<'a> {
    format: &'static str,
    version: u32,
    name: &'a str,
    validation: String,
    #[serde(flatten)]
    model: &'a CoreModel,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let model = model::find(&arguments.name)?;
    let compared = super::compared(&model)?;
    let shown = Shown {
        format: model::FORMAT,
        version: model::VERSION,
        name: &model.name,
        validation: corun_report::validation(&model, &compared),
        model: &model,
    };
    super::answer(arguments.json.as_deref(), &shown, |columns| {
        corun_report::describe_model(&model, &compared, columns)
    })?;
    Ok(code(Exit::Done))
}
