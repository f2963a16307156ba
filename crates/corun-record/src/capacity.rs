//! Work done against utilisation as the kernel reports it: the document of `corun capacity`.
//!
//! The kernel counts logical CPUs. How much of what the machine can do is used when n of them are busy depends on which
//! ones, so the curve is given for two orders of filling. What a real load has used lies between the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::{YieldRange, YieldSource};
use crate::observation::{Estimate, Observation, Source};
use crate::placement::Arm;
use crate::record::Body;
use crate::run::{PlannedAnalysis, Workload};
use crate::sample::Sample;
use crate::thread_sweep::Advice;

/// Share of a machine's capacity for some work that is used at each utilisation. Capacity 1 is the work done in a second
/// with all logical CPUs busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityCurve {
    /// The work.
    pub workload: Workload,
    /// The programs of a mix, in the order in which logical CPUs are given to them; empty where all workers do the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<String>,
    /// Source of the curve: measured here, or a predicted yield.
    pub source: Source,
    /// The core model of a predicted curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The cores.
    pub cores: u32,
    /// Their logical CPUs.
    pub cpus: u32,
    /// The logical CPUs of the widest core.
    pub smt_width: u32,
    /// The answer; absent where there are too few blocks to say.
    pub answer: Option<CapacityAnswer>,
    /// The curves, cores first before siblings first.
    pub orders: Vec<FillingCurve>,
    /// The capacity used at 10, 20, ... 100 % reported utilisation.
    pub levels: Vec<CapacityLevel>,
    /// X(full)/X(spread) on cores with siblings; absent where there are none, or too few blocks.
    pub smt_yield: Option<Estimate>,
    /// The share of a core's capacity that 1, 2, ... S busy siblings use, with as many busy on every core; empty where that
    /// is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_use: Vec<Estimate>,
    /// X(spread)/(C * X(single)): 1 where cores do not slow each other.
    pub scaling: Option<Estimate>,
    /// Reasons for the curve, a sentence each.
    pub reasons: Vec<String>,
    /// Lines that put the answer to use.
    pub advice: Vec<Advice>,
    /// Design of the measurement; absent where it was predicted.
    pub design: Option<CapacityDesign>,
    /// The arms and the twin of the one with all logical CPUs busy.
    pub arms: Vec<Arm>,
    /// Observations that follow from the samples.
    pub observations: Vec<Observation>,
    /// Every sample of every finished block.
    #[serde(deserialize_with = "crate::whole_list::read")]
    pub samples: Vec<Sample>,
}

impl Body for CapacityCurve {
    const FORMAT: &'static str = "corun-capacity";
}

impl CapacityCurve {
    /// The yields that a capacity range may be narrowed to; `None` where the curve has no figures of siblings.
    pub fn yields(&self) -> Option<YieldRange> {
        let Estimate { low, high, .. } = self.smt_yield?;
        let source = match self.source {
            Source::Predicted => YieldSource::Predicted,
            Source::Measured | Source::Published => YieldSource::Measured,
        };
        Some(YieldRange { low, high, source })
    }

    /// The curve of this order of filling.
    pub fn order(&self, filling: Filling) -> Option<&FillingCurve> {
        self.orders.iter().find(|curve| curve.filling == filling)
    }
}

/// Which logical CPUs become busy first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filling {
    /// One of each core, then second siblings: the kernel's own order.
    CoresFirst,
    /// All siblings of a core, then the next core.
    SiblingsFirst,
}

impl Filling {
    /// The order in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::CoresFirst => "cores first",
            Self::SiblingsFirst => "siblings first",
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// The reported utilisation that it is about.
    pub reported: f64,
    /// The least share of the capacity that is then used, over both orders and their intervals.
    pub used_low: f64,
    /// The largest such share.
    pub used_high: f64,
}

/// The curve of one order of filling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillingCurve {
    /// The order.
    pub filling: Filling,
    /// The points, from one busy logical CPU to all.
    pub points: Vec<CapacityPoint>,
}

/// So many busy logical CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityPoint {
    /// The arm; absent where it is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The busy logical CPUs.
    pub busy: u32,
    /// Their share of all.
    pub nominal: f64,
    /// The utilisation that `/proc/stat` reported during the runs, the mean over them; absent where it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<f64>,
    /// The share of the capacity that they use.
    pub used: Estimate,
}

/// The capacity used at a reported utilisation. Between measured points the time is shared by both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLevel {
    /// The reported utilisation.
    pub reported: f64,
    /// The share used where cores are filled first.
    pub cores_first: Estimate,
    /// The share used where siblings are filled first.
    pub siblings_first: Estimate,
}

impl CapacityLevel {
    /// The least and the largest share that may be used, over both orders and their intervals.
    pub fn range(&self) -> [f64; 2] {
        let (one, other) = (&self.cores_first, &self.siblings_first);
        [one.low.min(other.low), one.high.max(other.high)]
    }
}

/// Design of a measured curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityDesign {
    /// The seed of every random order.
    pub seed: u64,
    /// Finished blocks.
    pub blocks: u32,
    /// Runs of each arm before the first block, not counted.
    pub warmup: u32,
    /// The wanted half-width of the intervals at 50 %, as a fraction.
    pub target: f64,
    /// The planned interim analyses.
    pub interim_analyses: Vec<PlannedAnalysis>,
    /// The time allowed, in seconds.
    pub max_time_s: f64,
}
