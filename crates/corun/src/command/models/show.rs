//! `corun models show`: one model in full.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_model::CoreModel;
use corun_record::Exit;
use serde::Serialize;

use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(super) struct Arguments {
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
    /// Rows of its timing tables, and how many of them are kept from an older core.
    timing_rows: usize,
    inherited_rows: usize,
    #[serde(flatten)]
    model: &'a CoreModel,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let model = corun_model::find(&arguments.name)?;
    let compared = crate::core_model::compared(&model)?;
    let timings = crate::core_model::timings(&model)?;
    let (rows, inherited) = (timings.rows().count(), timings.inherited());
    let shown = Shown {
        format: corun_model::FORMAT,
        version: corun_model::VERSION,
        name: &model.name,
        validation: corun_report::validation(&model, &compared),
        timing_rows: rows,
        inherited_rows: inherited,
        model: &model,
    };
    super::answer(arguments.json.as_deref(), &shown, |columns| {
        let mut text = corun_report::describe_model(&model, &compared, columns);
        text += &format!(
            "\ntiming rows: {rows}, of which {inherited} are inherited from an older core\n"
        );
        text
    })?;
    Ok(code(Exit::Done))
}
