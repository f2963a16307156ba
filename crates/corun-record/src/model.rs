//! Core models as documents: the list, one in full, what is wrong with a file, where two differ.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;
use crate::tree::Tree;

/// List of `corun models list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelList {
    /// The models that come with corun.
    pub models: Vec<ListedModel>,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedModel {
    /// Name of the model, as the command line takes it.
    pub name: String,
    /// The machine that its figures are of, one line.
    pub title: String,
    /// Hardware threads of a core.
    pub smt_width: u32,
    /// The clock that cycles are converted with where no machine is available.
    pub gigahertz: f64,
    /// Entries of the reorder buffer.
    pub rob_entries: u32,
    /// True if enough published figures agree, and none differs.
    pub is_validated: bool,
    /// Validation of the model, in one line.
    pub validation: String,
    /// Validation as numbers.
    #[serde(default)]
    pub figures: PublishedFigures,
}

/// Published figures of a core by how its model stands to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFigures {
    /// All that were collected.
    pub published: usize,
    /// Those that the model agrees with.
    pub agree: usize,
    /// Those that the model has otherwise.
    pub differ: usize,
    /// Those that were read in their source.
    pub checked: usize,
    /// The others.
    pub unchecked: usize,
}

/// Document of `corun models show`: the fields of the model's file under their own names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelDescription {
    /// Name of the model.
    pub name: String,
    /// True if enough published figures agree, and none differs.
    pub is_validated: bool,
    /// Validation of the model, in one line.
    pub validation: String,
    /// Validation as numbers.
    #[serde(default)]
    pub figures: PublishedFigures,
    /// Rows of its timing tables.
    pub timing_rows: usize,
    /// Number of them that are kept from an older core.
    pub inherited_rows: usize,
    /// Number of them that are derived from other rows or assumed.
    #[serde(default)]
    pub derived_rows: usize,
    /// Published figures that differ from the model's.
    pub differing: Vec<DifferingFigure>,
    /// Published figures that were not read in their source.
    #[serde(default)]
    pub unchecked: Vec<UncheckedFigure>,
    /// The machine that the figures are of, one line.
    pub title: String,
    /// Who designed it.
    pub vendor: String,
    /// Hardware threads of a core.
    pub smt_width: u32,
    /// The clock that cycles are converted with where no machine is available.
    pub gigahertz: f64,
    /// The table of instruction timings.
    pub timing: String,
    /// Tables laid over it; the last one wins.
    pub overlays: Vec<String>,
    /// Sources by their short names, each with its citation.
    pub sources: BTreeMap<String, String>,
    /// Figures that no source gives, by field, each with where it is from then.
    pub estimates: BTreeMap<String, String>,
    /// Clock with busy siblings over that without.
    #[serde(default = "Tree::absent")]
    pub clock: Tree,
    /// The front end.
    pub front: Tree,
    /// The back end.
    pub back: Tree,
    /// Loads, stores, and the first level of data.
    pub memory: Tree,
    /// Memory hierarchy beyond the first level.
    pub hierarchy: Tree,
}

/// A published figure that the model does not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferingFigure {
    /// The model's field, or what is timed.
    pub figure: String,
    /// Published value.
    pub published: f64,
    /// Value of the model.
    pub modelled: f64,
    /// Publication.
    pub source: String,
    /// Why the model has another figure, where that is known.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A published figure that was not read in its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UncheckedFigure {
    /// The model's field, or what is timed.
    pub figure: String,
    /// Value that is said to be published.
    pub published: f64,
    /// Publication.
    pub source: String,
}

/// Findings of `corun models check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelChecks {
    /// The files, in the order asked for.
    pub files: Vec<CheckedModel>,
}

/// A model's file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedModel {
    /// The file, or the name of a model that comes with corun.
    pub file: String,
    /// True if it is a model.
    pub is_right: bool,
    /// Checks of the model, or its mistakes.
    pub sentences: Vec<String>,
}

/// Differences found by `corun models diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelDifferences {
    /// The first model.
    pub a: String,
    /// The second model.
    pub b: String,
    /// Fields in which they differ. Titles, sources and estimates are not compared.
    pub differences: Vec<ModelDifference>,
}

/// A field in which two models differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelDifference {
    /// Path of the field: `back.rob.entries`.
    pub field: String,
    /// Value in the first model.
    pub a: Option<String>,
    /// Value in the second model.
    pub b: Option<String>,
}

impl Body for ModelList {
    const FORMAT: &str = "corun-models";
}

impl Body for ModelDescription {
    const FORMAT: &str = "corun-model";
}

impl Body for ModelChecks {
    const FORMAT: &str = "corun-model-checks";
}

impl Body for ModelDifferences {
    const FORMAT: &str = "corun-model-differences";
}
