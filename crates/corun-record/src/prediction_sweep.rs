//! Predictions of several programs on several core models with several settings: the document of a sweep
//! of `corun predict`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prediction::Prediction;
use crate::record::Body;

/// The cells of a sweep, each a prediction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionSweep {
    /// The options that all cells share, as `corun predict` takes them: a cell of an earlier sweep is taken over only if
    /// they are the same.
    pub options: Vec<String>,
    /// The cells: programs in their order, models of a program, settings of a model.
    pub cells: Vec<SweepCell>,
}

/// One program on one core model with one choice of settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepCell {
    /// The program: the command, or the workload with its parameters.
    pub program: String,
    /// The core model.
    pub model: String,
    /// The fields of the model that are set otherwise, `FIELD=VALUE` each.
    pub settings: Vec<String>,
    /// The prediction; absent where the cell failed or was not reached.
    pub prediction: Option<Prediction>,
    /// Why the cell failed, in one sentence.
    pub failure: Option<String>,
}

impl SweepCell {
    /// True if both are of the same program, model and settings.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.program, &self.model, &self.settings)
            == (&other.program, &other.model, &other.settings)
    }
}

impl PredictionSweep {
    /// The cells that have neither a prediction nor a failure.
    pub fn open(&self) -> impl Iterator<Item = &SweepCell> {
        self.cells.iter().filter(|it| it.prediction.is_none() && it.failure.is_none())
    }

    /// The cells that failed.
    pub fn failed(&self) -> impl Iterator<Item = &SweepCell> {
        self.cells.iter().filter(|it| it.failure.is_some())
    }

    /// The predictions that were made.
    pub fn predictions(&self) -> impl Iterator<Item = &Prediction> {
        self.cells.iter().filter_map(|it| it.prediction.as_ref())
    }
}

impl Body for PredictionSweep {
    const FORMAT: &'static str = "corun-sweep";
}
