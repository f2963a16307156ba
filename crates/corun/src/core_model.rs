//! The timings and the validation of a core model, as several subcommands need them.

use corun_model::timing::TimingTable;
use corun_model::{Comparison, CoreModel};

use crate::problem::Problem;

/// The instruction timings of a model.
pub(crate) fn timings(model: &CoreModel) -> Result<TimingTable, Problem> {
    TimingTable::of(model).map_err(|error| {
        Problem::usage(
            error.to_string(),
            "Name tables in the model's `timing` and `overlays` that come with corun, or are in the model's folder.",
        )
    })
}

/// The published figures of the model's core, each with the model's own.
pub(crate) fn compared(model: &CoreModel) -> Result<Vec<Comparison>, Problem> {
    corun_model::compare_published(model).map_err(|error| {
        Problem::failed(error.to_string(), "This is a mistake in corun: please report it.")
    })
}

/// The warning that goes with every result of a model that was not compared with its machine.
pub(crate) fn validation_warning(model: &CoreModel) -> Result<Option<String>, Problem> {
    let validation = corun_report::validation(model, &compared(model)?);
    Ok(validation.starts_with("unvalidated").then_some(validation))
}
