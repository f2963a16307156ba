//! The timings and the validation of a core model, as several subcommands need them.

use corun_model::timing::TimingTable;
use corun_model::{Comparison, CoreModel, Validation};
use corun_record::{Caveat, on_one_line};

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

/// The caveat that goes with every result of a model: how many of its published figures agree, and how many were
/// not checked against their source. None only if all agree and all were.
pub(crate) fn validation_caveat(model: &CoreModel) -> Result<Option<Caveat>, Problem> {
    let validation = Validation::of(&compared(model)?);
    let kind = match validation.is_validated() {
        true if validation.0.unchecked == 0 => return Ok(None),
        true => "unchecked-figures",
        false => "unvalidated-model",
    };
    let sentence = format!("The core model {} is {validation}.", on_one_line(&model.name));
    Ok(Some(Caveat::new(kind, sentence)))
}
