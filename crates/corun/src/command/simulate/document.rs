//! Parts that the documents of a simulation have in common.

use std::collections::BTreeMap;

use corun_model::CoreModel;
use corun_model::timing::{Provenance, Usage};
use corun_record::{SimulatedCore, TimingRows};
use corun_sim::uops::Unknown;

use super::Arguments;

/// The core, with what was set otherwise.
pub(super) fn core(model: &CoreModel, arguments: &Arguments) -> SimulatedCore {
    SimulatedCore {
        model: model.name.clone(),
        title: model.title.clone(),
        settings: arguments.settings().into_iter().collect(),
    }
}

/// Forms without a row in the timing table, with the number of places in the code.
pub(super) fn unknown_forms(unknown: &BTreeMap<String, Unknown>) -> BTreeMap<String, u64> {
    unknown.iter().map(|(form, one)| (form.clone(), one.places.len() as u64)).collect()
}

/// The simulated instructions by how well their timing is known.
pub(super) fn timing_rows(usage: &Usage) -> TimingRows {
    TimingRows {
        executed: usage.executed(),
        by_class: usage.of(Provenance::Class),
        inherited: usage.of(Provenance::Inherited),
        derived: usage.of(Provenance::Derived),
    }
}
