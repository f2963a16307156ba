//! Runs that are kept in a store, as a list: the document of `corun runs list`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;
use crate::run::EndReason;

/// Document that `corun runs list --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptRunList {
    /// The file of the store.
    pub store: String,
    /// The runs, the newest first.
    pub runs: Vec<KeptRun>,
    /// Older ones that were asked for and are beyond the limit.
    pub more: u64,
}

/// A run in a store, without its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptRun {
    /// Id of the run in the store.
    pub id: String,
    /// The format of its document.
    pub document: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Duration of the run, in seconds.
    pub elapsed_s: f64,
    /// The host that it ran on, where that is known.
    pub host: Option<String>,
    /// The subcommand of corun, such as `bench run`.
    pub command: String,
    /// All arguments of corun; empty for what was imported.
    pub line: Vec<String>,
    /// The work.
    pub workload: String,
    /// The answer in one sentence; empty where there is none yet.
    pub answer: String,
    /// Why it ended; absent where it has finished blocks and no answer.
    pub ending: Option<EndReason>,
    /// True if a process is adding blocks to it.
    pub is_running: bool,
    /// The finished blocks of a run without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Tags of the run.
    pub tags: Vec<String>,
    /// Note of the user.
    pub note: String,
}

impl Body for KeptRunList {
    const FORMAT: &'static str = "corun-runs";
}
