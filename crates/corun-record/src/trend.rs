//! A workload's figures over its runs: the document of `corun compare --over-time`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{Estimate, Metric, Source};
use crate::record::Body;
use crate::run_comparison::{ChangeAnswer, Sense};

/// The series of a workload's observations over runs, with the changes of their level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// The work.
    pub workload: String,
    /// The runs, the oldest first.
    pub runs: Vec<TrendRun>,
    /// A share of series without a change in which one is marked, at most.
    pub error_rate: f64,
    /// The smallest change that is marked, as a fraction.
    pub practical: f64,
    /// The series, in table order.
    pub series: Vec<TrendSeries>,
}

impl Body for Trend {
    const FORMAT: &'static str = "corun-trend";
}

/// A run of a trend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrendRun {
    /// The name by which it was given.
    pub name: String,
    /// Start of the run, UTC, RFC 3339.
    pub started: String,
    /// Changes against the run before, a sentence each: another kernel, another version of corun.
    pub changed: Vec<String>,
}

/// An observation over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendSeries {
    /// The model of the core that it was simulated on; absent where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_model: Option<String>,
    /// Metric that is observed.
    pub metric: Metric,
    /// Source of the values.
    pub source: Source,
    /// The arm.
    pub arm: String,
    /// The arm that the metric itself compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Quantity counted or timed, where the metric alone does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The unit of the values.
    pub unit: String,
    /// Sense of the metric.
    pub sense: Sense,
    /// The values, in the order of the runs.
    pub points: Vec<TrendPoint>,
    /// The changes of level, in order.
    pub changes: Vec<TrendChange>,
}

/// The value of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendPoint {
    /// The run, as an index.
    pub run: u32,
    /// The value, with the run's own interval.
    pub estimate: Estimate,
    /// True if other programs took so much of the workers' CPUs that the value is not judged.
    #[serde(default)]
    pub disturbed: bool,
}

/// A change of the level of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendChange {
    /// The first point of the new level, as an index.
    pub point: u32,
    /// The new level over the old one (geometric means).
    pub ratio: f64,
    /// The probability of so distant levels under runs whose order means nothing.
    pub probability: f64,
    /// The answer.
    pub answer: ChangeAnswer,
}
