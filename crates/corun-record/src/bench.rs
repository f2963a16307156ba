//! A bench: runs of built-in workloads, one after another, and the workloads that did not run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{self, ReadError};
use crate::run::Run;

/// What `corun bench --json` writes.
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
    /// How long all runs took, in seconds.
    pub elapsed_s: f64,
    /// Whether the user or the system ended it before the last run.
    pub interrupted: bool,
    /// The runs, in the order run; each is what `corun measure --json` writes.
    pub runs: Vec<Run>,
    /// The workloads that gave no run.
    pub missing: Vec<Missing>,
}

/// A workload that gave no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The workload's name.
    pub workload: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Why it gave none, as one sentence.
    pub reason: String,
    /// What would help.
    pub next_step: String,
}

impl Bench {
    /// The `format` of a bench's JSON.
    pub const FORMAT: &str = "corun-bench";
    /// The `version` that this program writes.
    pub const VERSION: u32 = 1;

    /// The bench as JSON text, ended by a newline.
    pub fn to_json(&self) -> String {
        json::pretty(self)
    }

    /// Reads a bench of any version up to [`Self::VERSION`].
    ///
    /// # Errors
    /// If the text is no JSON, of another format, of a newer version, or lacks a field.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        json::read(text, Self::FORMAT, Self::VERSION)
    }

    /// The JSON Schema of a bench, as pretty-printed JSON ended by a newline.
    pub fn schema() -> String {
        json::pretty(&schemars::schema_for!(Self))
    }
}
