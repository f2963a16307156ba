//! What a simulated core answers, for people and as JSON.

mod blocks;
mod program;
mod together;

pub use blocks::{BlockPrediction, BlockPredictions};
pub use program::Simulation;
pub use together::{Together, Varied};

use std::collections::BTreeMap;

use corun_model::timing::{Provenance, Usage};
use corun_record::Caveat;
use corun_sim::PageSize;
use corun_sim::uops::Unknown;

/// The caveats of a document: that of the model, then those of the figures.
fn caveats(model: Option<&Caveat>, figures: &[String]) -> Vec<Caveat> {
    model
        .into_iter()
        .cloned()
        .chain(figures.iter().map(|it| Caveat::new("simulation", it)))
        .collect()
}

/// Executed instructions by how well their timing is known, as JSON has them.
#[derive(serde::Serialize)]
struct TimingRows {
    executed: u64,
    by_class: u64,
    inherited: u64,
    derived: u64,
}

impl TimingRows {
    fn of(usage: &Usage) -> Self {
        Self {
            executed: usage.executed(),
            by_class: usage.of(Provenance::Class),
            inherited: usage.of(Provenance::Inherited),
            derived: usage.of(Provenance::Derived),
        }
    }
}

/// What is said of forms that a timing table has no row for.
fn unknown_forms(unknown: &BTreeMap<String, Unknown>) -> Option<String> {
    let places: u64 = unknown.values().map(|one| one.places).sum();
    let names: Vec<&str> = unknown.keys().take(8).map(String::as_str).collect();
    let more = if unknown.len() > names.len() { ", ..." } else { "" };
    (!unknown.is_empty()).then(|| {
        format!(
            "{} forms in {places} places of the code have no timing of their own and take that of \
             their class: {}{more}",
            unknown.len(),
            names.join(", ")
        )
    })
}

/// What is said of divisions, whose operands a trace does not hold.
fn assumed_quotients(quotients: &BTreeMap<u32, u32>) -> Option<String> {
    let each =
        quotients.iter().map(|(width, bits)| format!("{bits} bits for {width}-bit divisors"));
    (!quotients.is_empty()).then(|| {
        format!(
            "The time of a division depends on its quotient, which is not recorded. Assumed: {}.",
            each.collect::<Vec<_>>().join(", ")
        )
    })
}

/// A line on the page size of data, where it is not the default.
fn of_pages(pages: PageSize) -> &'static str {
    match pages {
        PageSize::Small => "",
        PageSize::Huge => "with data in pages of 2 MiB\n",
    }
}

/// Text in lines of so many columns.
fn wrapped(text: &str, columns: u16) -> String {
    textwrap::fill(text, usize::from(columns))
}
