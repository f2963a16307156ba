//! Sharing policies of a resource that both siblings want: the four answers of real SMT cores.

use serde::{Deserialize, Serialize};

/// Sharing policy of a resource between the hardware threads of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each thread has its own, of the full size.
    Replicated,
    /// Equal parts while several threads are active, whole again when the siblings halt.
    Partitioned,
    /// First come, first served, up to a cap where there is one.
    Shared,
    /// One thread a cycle, in turn.
    Alternating,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Replicated, Self::Partitioned, Self::Shared, Self::Alternating];

    /// As model files write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replicated => "replicated",
            Self::Partitioned => "partitioned",
            Self::Shared => "shared",
            Self::Alternating => "alternating",
        }
    }
}

/// Sharing policy of a resource, and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    /// Sharing policy.
    pub policy: Policy,
    /// The most entries that one of several active threads may hold of a shared resource.
    pub cap: Option<u32>,
    /// Source of the resource's figures and its policy: names of the model's `sources`, each with a
    /// place if it has one ("sog 2.10.3").
    pub source: String,
    /// True if the policy is an assumption, because nothing is published.
    #[serde(default)]
    pub assumed: bool,
}
