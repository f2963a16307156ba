//! A campaign over nodes: the document of `corun fleet report`.
//!
//! Figures are kept by hardware type, and the values of nodes are never pooled: each figure is a mean over nodes with the
//! variance between nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{Estimate, Metric};
use crate::record::Body;
use crate::run::Answer;
use crate::thread_sweep::{Advice, ThreadVerdict};

/// Findings of a campaign for each hardware type, and of single nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// The campaign's name; absent where the runs are of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// The confidence of every interval.
    pub confidence: f64,
    /// The smallest effect and the smallest distance of a node that matter, as a fraction.
    pub practical: f64,
    /// The probability that an ordinary node of the whole campaign is named as outlying, at most.
    pub error_rate: f64,
    /// The hardware types, the one with the most nodes first.
    pub types: Vec<HardwareType>,
    /// Nodes without a result that counts, with the reason.
    pub unmeasured: Vec<UnmeasuredNode>,
    /// Lines that put the answer into effect.
    pub advice: Vec<Advice>,
}

impl Body for FleetReport {
    const FORMAT: &'static str = "corun-fleet-report";
}

/// Nodes of the same hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareType {
    /// The type in words: CPU model, cores, threads a core, caches.
    pub name: String,
    /// The CPU model's name; absent where the kernel does not report it.
    pub cpu_model: Option<String>,
    /// Cores of a node.
    pub cores: u32,
    /// The largest number of online siblings of a core.
    pub smt_width: u32,
    /// Nodes of the hardware type, by name.
    pub nodes: Vec<String>,
    /// Programs that were run on them.
    pub programs: Vec<ProgramOverNodes>,
    /// Nodes that differ from the others, with the evidence.
    pub odd_nodes: Vec<OddNode>,
}

/// A program on the nodes of a hardware type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramOverNodes {
    /// The work.
    pub workload: String,
    /// Runs that count.
    pub runs: u32,
    /// Effect of SMT on it; absent where no yield was measured.
    pub answer: Option<Answer>,
    /// The arm with the most work in a second; absent where there are fewer than two arms.
    pub best: Option<BestOverNodes>,
    /// The figures, the yields first.
    pub figures: Vec<FigureOverNodes>,
}

/// The arm with the most work in a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestOverNodes {
    /// Certainty of the answer.
    pub verdict: ThreadVerdict,
    /// The arm, with what Slurm was asked for if that is not all hardware threads.
    pub arm: String,
    /// Number of workers.
    pub workers: u32,
    /// Arms that were shown to do as much, within the practical bound.
    pub equal: Vec<String>,
    /// Arms that may do more or less: the evidence does not say.
    pub undecided: Vec<String>,
}

/// A figure of a program over the nodes of a hardware type. All deviations are of logarithms: 0.01 is 1 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureOverNodes {
    /// Metric of the figure.
    pub metric: Metric,
    /// The arm, with what Slurm was asked for if that is not all hardware threads.
    pub arm: String,
    /// The arm that the metric compares with.
    pub against: Option<String>,
    /// The unit of the values.
    pub unit: String,
    /// The mean over nodes that are not outlying, and its interval for the mean of all such nodes; absent below two
    /// nodes. Its `blocks` are nodes.
    pub mean: Option<Estimate>,
    /// Mean over all nodes, where some are outlying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_with_outlying: Option<Estimate>,
    /// Prediction interval of the level of one further node; absent below three nodes. Its `blocks` are nodes.
    pub further_node: Option<Estimate>,
    /// The standard deviation between nodes, relative; absent below two nodes. Without repeats it includes the deviation
    /// between runs of one node.
    pub between_nodes: Option<f64>,
    /// The interval of that deviation.
    pub between_nodes_interval: Option<[f64; 2]>,
    /// The standard error of a node's value, relative: the deviation within nodes.
    pub within_node: f64,
    /// The standard deviation between runs of one node beyond that within runs, relative; absent without repeats.
    pub between_runs: Option<f64>,
    /// The value of each node.
    pub values: Vec<NodeValue>,
}

/// Value of a figure on one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeValue {
    /// The node.
    pub node: String,
    /// Runs of the node that count.
    pub runs: u32,
    /// The value, with the interval that its own measurement gives. Its `blocks` are blocks of its runs.
    pub estimate: Estimate,
    /// Difference from the other nodes; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlying: Option<OutlyingValue>,
}

/// Difference of a node's value from those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlyingValue {
    /// The value over the mean of the others.
    pub ratio: f64,
    /// Distance in deviations that such distances have (a studentized deleted residual).
    pub deviations: f64,
    /// The probability that the most distant of so many ordinary nodes lies this far off, at most.
    pub probability: f64,
}

/// A node that differs from the others of its type, or is of a type of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OddNode {
    /// The node.
    pub node: String,
    /// Findings that differ.
    pub findings: Vec<NodeFinding>,
}

/// A difference at a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFinding {
    /// The kind.
    pub kind: NodeFindingKind,
    /// The evidence, in one sentence without the node's name.
    pub sentence: String,
}

/// The kinds of difference.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum NodeFindingKind {
    /// Siblings that nodes with the same CPU have: SMT is off, or the siblings are hidden.
    SiblingsHidden,
    /// Less work in a second than other nodes.
    Slow,
    /// More work in a second than other nodes.
    Fast,
    /// Another yield than other nodes.
    Yield,
    /// A lower clock than other nodes.
    Throttled,
    /// Other work on its CPUs.
    Disturbed,
    /// Another setting of firmware or kernel.
    Setting,
}

/// A node without a result that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmeasuredNode {
    /// The node.
    pub node: String,
    /// Why there is none, in one sentence.
    pub reason: String,
}
