//! Placements of the same workers on a simulated core, and what one is worth against another.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::run::Caveat;
use crate::upgrade::{each, rename, warning_to_caveats};

/// What `corun simulate --placement --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placements {
    /// Always `corun-placements`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The core model's name.
    pub model: String,
    /// Its fields that were set otherwise, with their values as text.
    pub settings: BTreeMap<String, String>,
    /// What the workers' data lie in: `small` pages of 4 KiB, or `huge` ones of 2 MiB.
    #[serde(default = "small")]
    pub pages: String,
    /// The name of each worker, by number.
    pub workers: Vec<String>,
    /// The placements, in the order asked for.
    pub placements: Vec<SimulatedPlacement>,
    /// Each against another where that has a name.
    pub comparisons: Vec<PlacementComparison>,
    /// Comparisons whose figure cannot be and is therefore not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedComparison>,
    /// What limits trust in all figures, a sentence each.
    pub caveats: Vec<Caveat>,
    /// What the SMT yield would be if siblings shared each resource otherwise, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<VariedResource>,
}

/// What data lay in before one could choose.
fn small() -> String {
    "small".to_owned()
}

/// One placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedPlacement {
    /// Its name, as the command line takes it.
    pub placement: String,
    /// Cores that are used.
    pub cores: usize,
    /// How often it was simulated, the workers at other offsets each time.
    pub phases: usize,
    /// Each worker where it ran; one that ran as several copies is there as often.
    pub workers: Vec<PlacedWorker>,
}

/// A worker on its logical CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedWorker {
    /// Its number.
    pub worker: usize,
    /// The core, from 0.
    pub core: usize,
    /// The logical CPU of the core, from 0.
    pub logical_cpu: usize,
    /// Counted instructions.
    pub instructions: u64,
    /// Core cycles that they took, of each phase.
    pub cycles: Vec<f64>,
    /// Cycles of its logical CPU by what they went to, over all phases.
    pub stack: BTreeMap<String, f64>,
}

/// A comparison without a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedComparison {
    /// What the ratio is called.
    pub metric: String,
    /// The placement.
    pub placement: String,
    /// What it is compared with.
    pub reference: String,
    /// What the figure should have been, what it was, and what differs.
    pub reason: String,
}

/// A placement against another one, over all phases. Each phase counts the same window, begun at other offsets: the
/// range from low to high says how much depends on which parts meet, and nothing of other parts of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementComparison {
    /// What the ratio is called.
    pub metric: String,
    /// The placement.
    pub placement: String,
    /// What it is compared with.
    pub reference: String,
    /// The mean.
    pub mean: f64,
    /// The smallest of all phases.
    pub low: f64,
    /// The largest of all phases.
    pub high: f64,
}

/// A resource of the core that siblings share otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariedResource {
    /// Its path in the model.
    pub resource: String,
    /// How siblings share it in the model.
    pub policy: String,
    /// Whether that is an assumption.
    pub is_assumed: bool,
    /// The SMT yield by other policies.
    pub smt_yield: BTreeMap<String, f64>,
}

impl Document for Placements {
    const FORMAT: &str = "corun-placements";
    const VERSION: u32 = 2;

    fn upgrade(json: &mut serde_json::Value) {
        warning_to_caveats(json);
        each(json, "comparisons", |comparison| {
            rename(comparison, "least", "low");
            rename(comparison, "most", "high");
        });
    }
}
