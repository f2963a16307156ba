//! `corun models diff`: where two models differ.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use corun_report::ModelDifference;
use serde::Serialize;

use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(super) struct Arguments {
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

/// The form of `--json`.
#[derive(Serialize)]
struct Differences<'a> {
    a: &'a str,
    b: &'a str,
    differences: Vec<ModelDifference>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let (a, b) = (corun_model::find(&arguments.a)?, corun_model::find(&arguments.b)?);
    let differences = Differences {
        a: &a.name,
        b: &b.name,
        differences: corun_report::model_differences(&a, &b),
    };
    super::answer(arguments.json.as_deref(), &differences, |columns| {
        corun_report::models_side_by_side(&a, &b, columns)
    })?;
    Ok(code(Exit::Done))
}
