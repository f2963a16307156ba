//! `corun models list`: the models that come with corun.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use serde::Serialize;

use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write the list as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A line of the list in its `--json` form.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    title: &'a str,
    smt_width: u32,
    validation: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mut models = Vec::new();
    for model in corun_model::all()? {
        let compared = crate::core_model::compared(&model)?;
        models.push((model, compared));
    }
    let entries: Vec<Entry<'_>> =
        models.iter().map(|(model, compared)| Entry::of(model, compared)).collect();
    super::answer(arguments.json.as_deref(), &entries, |columns| {
        corun_report::list_models(&models, columns)
    })?;
    Ok(code(Exit::Done))
}

impl<'a> Entry<'a> {
    fn of(model: &'a corun_model::CoreModel, compared: &[corun_model::Comparison]) -> Self {
        Self {
            name: &model.name,
            title: &model.title,
            smt_width: model.smt_width,
            validation: corun_report::validation(model, compared),
        }
    }
}
