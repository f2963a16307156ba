//! Placements of the same workers on a simulated core, and what one is worth against another.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::issue::IssueCycles;
use crate::observation::Metric;
use crate::page_size::PageSize;
use crate::placement::Placement;
use crate::record::Body;
use crate::simulation::{SimulatedCore, TimingRows};

/// Document that `corun simulate --placement --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placements {
    /// The core that was simulated.
    pub core: SimulatedCore,
    /// The page size of the workers' data.
    #[serde(default)]
    pub pages: PageSize,
    /// The name of each worker, by number.
    pub workers: Vec<String>,
    /// The placements, in the order asked for.
    pub placements: Vec<SimulatedPlacement>,
    /// Each against another where that has a name.
    pub comparisons: Vec<PlacementComparison>,
    /// Comparisons whose figure cannot be and is therefore not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedComparison>,
    /// SMT yield if siblings shared each resource otherwise, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<VariedResource>,
    /// Provenance of the timings of the simulated instructions, those of all simulations together.
    #[serde(default)]
    pub timing_rows: TimingRows,
}

/// One placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedPlacement {
    /// Which.
    pub placement: Placement,
    /// Cores that are used.
    pub cores: usize,
    /// Number of simulations, the workers at other offsets each time.
    pub phases: usize,
    /// Each worker where it ran; one that ran as several copies is there as often.
    pub workers: Vec<PlacedWorker>,
}

/// A worker on its logical CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedWorker {
    /// Number of the worker.
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
    #[serde(with = "crate::ordered")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub stack: Vec<(String, f64)>,
    /// Cycles in which it started micro-ops, and in which a sibling did, too, over all phases.
    #[serde(default)]
    pub issue: IssueCycles,
}

/// A comparison without a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedComparison {
    /// Metric of the ratio; `makespan` is how much longer the workers take.
    pub metric: Metric,
    /// The placement.
    pub placement: Placement,
    /// Placement that it is compared with.
    pub against: Placement,
    /// Reason, as a sentence: the published figure, the simulated one, and the difference.
    pub reason: String,
}

/// A placement against another one, over all phases. Each phase counts the same window, begun at other offsets: the
/// range from low to high says how much depends on which parts meet, and nothing of other parts of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementComparison {
    /// Metric of the ratio; `makespan` is how much longer the workers take.
    pub metric: Metric,
    /// The placement.
    pub placement: Placement,
    /// Placement that it is compared with.
    pub against: Placement,
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
    /// Path of the resource in the model.
    pub resource: String,
    /// Sharing policy of the resource in the model.
    pub policy: String,
    /// True if that is an assumption.
    pub is_assumed: bool,
    /// The SMT yield by other policies.
    pub smt_yield: BTreeMap<String, f64>,
}

impl Body for Placements {
    const FORMAT: &str = "corun-placements";
}
