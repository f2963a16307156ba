//! Record of a probe, as `corun topo --probe --json` writes it beside the machine.
//!
//! Each pair has the conclusion first, then what it rests on, so that a reader can judge it.

use corun_record::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Machine;

/// The result of a probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The seed by which pairs were chosen where not all were probed.
    pub seed: u64,
    /// Duration, in seconds.
    pub seconds: f64,
    /// Number of pairs of allowed CPUs.
    pub possible_pairs: u64,
    /// True if it was interrupted; `pairs` then holds those that were finished.
    pub interrupted: bool,
    /// The pairs that were probed, by their CPUs.
    pub pairs: Vec<Pair>,
    /// Contradictions of a sure conclusion and sysfs.
    pub contradictions: Vec<Contradiction>,
}

/// Result of the probe for two logical CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The lower number first.
    pub cpus: [u32; 2],
    /// Relation of the two.
    pub conclusion: Relation,
    /// Sureness of the relation.
    pub sureness: Sureness,
    /// Kind of sharing of a core, if they do.
    pub sharing: Option<Sharing>,
    /// Grounds of the conclusion, or why there is none, in words.
    pub because: String,
    /// Relation by sysfs; `null` where it does not report it.
    pub sysfs: Option<Relation>,
    /// Two port-saturating loops at once.
    pub ports: Contention,
    /// Two chains of dependent multiplications at once.
    pub chains: Contention,
    /// The shortest round trip of a cache line between the two, in nanoseconds; `null` if none was
    /// finished in time.
    pub round_trip_ns: Option<f64>,
    /// Number of rounds of windows measured.
    pub rounds: u32,
}

/// Relation of two logical CPUs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// A core.
    SharesACore,
    /// An L3 cache, and no core.
    SharesAnL3,
    /// Neither.
    Farther,
    /// The windows do not decide; sysfs never says this.
    Undecided,
}

/// Sureness of a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sureness {
    /// Measured, in windows that admit nothing else.
    Sure,
    /// Sure that they share no core; the L3 cache is inferred from round trips that differ moderately.
    Likely,
    /// Sure that they share no core; the L3 cache is taken from sysfs alone.
    AsSysfsSays,
    /// Nothing is concluded.
    Undecided,
}

/// Kind of sharing of a core by two logical CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Both run at once and compete for its ports: siblings.
    Smt,
    /// They are time-sliced, as virtual CPUs on one host CPU are.
    TimeSlicing,
}

/// Speed of one loop on each of two CPUs together, beside that alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contention {
    /// The work of both at once over the work of one alone, the best round: 1 if they share, 2 if
    /// they do not; `null` if there was none. Where both run at once, time that others took does not
    /// count.
    pub work_ratio: Option<f64>,
    /// The part of the time in which both ran, the best round: 0 if they are time-sliced.
    pub at_once: f64,
}

/// Contradiction of a sure conclusion and sysfs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// The pair.
    pub cpus: [u32; 2],
    /// Relation by sysfs.
    pub sysfs: Relation,
    /// Relation by the probe.
    pub found: Relation,
    /// Both and the evidence, in one sentence.
    pub sentence: String,
}

/// Document of `corun topo`: a machine, and the result of its probe if it was probed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// The machine.
    #[serde(flatten)]
    pub machine: Machine,
    /// The result of the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
}

impl Body for Topology {
    const FORMAT: &str = "corun-topology";
}

impl Relation {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::SharesACore => "shares a core",
            Self::SharesAnL3 => "shares an L3",
            Self::Farther => "farther",
            Self::Undecided => "undecided",
        }
    }
}

impl Probe {
    /// Result for two CPUs, in either order, if they were probed.
    pub fn pair(&self, one: u32, other: u32) -> Option<&Pair> {
        let cpus = [one.min(other), one.max(other)];
        let place = self.pairs.binary_search_by_key(&cpus, |pair| pair.cpus).ok()?;
        self.pairs.get(place)
    }

    /// True if sysfs contradicts what was found about two CPUs, in either order.
    pub fn is_contradicted(&self, one: u32, other: u32) -> bool {
        let cpus = [one.min(other), one.max(other)];
        self.contradictions.iter().any(|contradiction| contradiction.cpus == cpus)
    }
}
