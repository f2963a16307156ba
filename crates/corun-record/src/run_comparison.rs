//! Runs compared with each other: the document of `corun compare`.
//!
//! The first run is the base, and each other one is compared with it. What differs beside the figures comes first,
//! since it may be the reason for a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{Estimate, Metric, Source};
use crate::record::Body;

/// Runs beside a base run, observation by observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunComparison {
    /// The runs, the base first.
    pub runs: Vec<ComparedRun>,
    /// Differences between the runs beside their figures.
    pub differences: Vec<RunDifference>,
    /// The confidence with which all intervals hold together.
    pub confidence: f64,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// Observations that count as comparisons of their own; the intervals share the error rate between them.
    pub comparisons: u32,
    /// Every observation that two runs have in common.
    pub observations: Vec<ComparedObservation>,
    /// Observations that could not be compared, a sentence each.
    pub not_compared: Vec<NotCompared>,
    /// Condition of `--fail-on`, and the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<ComparisonGate>,
}

impl Body for RunComparison {
    const FORMAT: &'static str = "corun-comparison";
}

/// A run that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// The name by which it was given.
    pub name: String,
    /// Start of the run, UTC, RFC 3339.
    pub started: String,
    /// Workloads, one line each.
    pub workloads: Vec<String>,
}

/// A fact that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDifference {
    /// The property that differs, for instance `kernel`.
    pub what: String,
    /// Value in each run, in the order of the runs; absent where a run does not say.
    pub values: Vec<Option<String>>,
}

/// An observation of a run beside that of the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedObservation {
    /// The run, as an index; the base is 0.
    pub run: u32,
    /// The workload, where a document has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Metric that is compared.
    pub metric: Metric,
    /// Source of the values.
    pub source: Source,
    /// The arm.
    pub arm: String,
    /// The arm of the base, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_arm: Option<String>,
    /// The arm that the metric itself compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Quantity counted or timed, where the metric alone does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The unit of both values.
    pub unit: String,
    /// The value of the base, with its run's own interval.
    pub base: Estimate,
    /// The value of the run, with its own interval.
    pub value: Estimate,
    /// The run over the base; all intervals of the document hold together.
    pub ratio: Estimate,
    /// Sense of the metric.
    pub sense: Sense,
    /// Pairing of the samples of both.
    pub pairing: Pairing,
    /// Earlier equal runs that the interval rests on beside the two.
    pub earlier_runs: u32,
    /// The deviation of equal runs that was reckoned with, as a fraction; absent where it does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_deviation: Option<f64>,
    /// Standard error of the logarithm of the ratio, with the difference between equal runs; absent where a run is compared
    /// with itself, which can show no change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// The largest effect that identical arms can show by noise alone in either run, as a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<f64>,
    /// True if other programs took so much of the workers' CPUs that nothing can be said of the program.
    pub disturbed: bool,
    /// True if it says the same as one above, turned round or scaled; it is then no comparison of its own.
    pub restates: bool,
    /// The answer.
    pub answer: ChangeAnswer,
    /// The answer as one sentence.
    pub sentence: String,
}

/// Sense of a metric: better when more, or when less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// More is better.
    HigherIsBetter,
    /// Less is better.
    LowerIsBetter,
    /// Neither: a ratio between placements falls if its denominator gets better.
    Neither,
}

/// Pairing of the samples of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// Block by block: both arms ran in each block of one run.
    Blocks,
    /// Not paired, but of one run.
    WithinRun,
    /// Not paired, and of two runs.
    BetweenRuns,
    /// Not paired: figures of simulations, which do not differ from run to run.
    Simulated,
}

impl Pairing {
    /// Name of the pairing, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocks => "paired by block",
            Self::WithinRun => "unpaired, of one run",
            Self::BetweenRuns => "unpaired",
            Self::Simulated => "simulated",
        }
    }
}

/// The answers that a comparison of runs can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAnswer {
    /// A gain beyond chance, the practical bound and the noise floor.
    Better,
    /// A loss beyond chance, the practical bound and the noise floor.
    Worse,
    /// More, of what is neither better nor worse.
    Higher,
    /// Less, of what is neither better nor worse.
    Lower,
    /// Shown to lie inside the practical bound.
    NoChange,
    /// The data do not decide.
    Inconclusive,
}

impl ChangeAnswer {
    /// The answer in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::NoChange => "no change",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// True if a change is claimed.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::NoChange | Self::Inconclusive)
    }
}

/// An observation that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotCompared {
    /// The run, as an index.
    pub run: u32,
    /// The observation, for instance `time of spread`.
    pub what: String,
    /// Why not, as one sentence.
    pub reason: String,
    /// True if a run is not of the work that was asked for, such as one whose program failed.
    #[serde(default)]
    pub spoiled: bool,
}

/// Condition that makes a comparison fail, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonGate {
    /// Worse by more than this fails, as a fraction; absent where nothing was asked of what is worse.
    pub worse_by: Option<f64>,
    /// True if what is not decided fails too.
    pub inconclusive_fails: bool,
    /// The observations shown to be worse by more, as indices.
    pub worse: Vec<u32>,
    /// The observations of which it is neither shown nor excluded, as indices.
    pub undecided: Vec<u32>,
    /// Number of observations that could not be compared because a run is not of the work that was asked for.
    #[serde(default)]
    pub spoiled: u32,
    /// The smallest true change for the worse that each observation would have shown; an observation that would have
    /// shown none, not even a doubling, is not among them.
    #[serde(default)]
    pub visible: Vec<VisibleChange>,
    /// The observations that would have shown no change, as indices.
    #[serde(default)]
    pub blind: Vec<u32>,
    /// True if it fails for this reason alone: no observation would have shown a change.
    #[serde(default)]
    pub fails_as_blind: bool,
    /// True if nothing failed.
    pub passes: bool,
}

impl ComparisonGate {
    /// True if no change of any observation would have been shown.
    pub fn is_blind(&self) -> bool {
        self.visible.is_empty()
    }
}

/// Smallest true change for the worse that a gate would have shown of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VisibleChange {
    /// The observation, as an index.
    pub observation: u32,
    /// The change, as a fraction: four of five comparisons of a program that is worse by so much fail the gate.
    pub change: f64,
}
