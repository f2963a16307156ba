//! A bench: runs of built-in workloads, one after another, and the workloads that did not run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::run::{Caveat, Ending, MachineSummary, Run};

/// Document that `corun bench --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bench {
    /// Always `corun-bench`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Duration of all runs, in seconds.
    pub elapsed_s: f64,
    /// The machine that it ran on; absent where nothing ran.
    #[serde(default)]
    pub machine: Option<MachineSummary>,
    /// Why it ended.
    pub ending: Ending,
    /// Limits of trust in every run, a sentence each.
    #[serde(default)]
    pub caveats: Vec<Caveat>,
    /// The runs, in the order run; each is what `corun measure --json` writes.
    pub runs: Vec<Run>,
    /// The workloads that gave no run.
    pub not_possible: Vec<WorkloadNotPossible>,
}

/// A workload that gave no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadNotPossible {
    /// The workload's name.
    pub workload: String,
    /// Parameters of the workload.
    pub parameters: BTreeMap<String, String>,
    /// Why it gave none, as one sentence.
    pub reason: String,
    /// Advice to the user.
    pub next_step: String,
}

impl Document for Bench {
    const FORMAT: &str = "corun-bench";
}
