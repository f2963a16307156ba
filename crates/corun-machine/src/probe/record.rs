//! What a probe found, as `corun topo --probe --json` writes it beside the machine.
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
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How many pairs of allowed CPUs there are.
    pub possible_pairs: u64,
    /// Whether it was interrupted; `pairs` then holds those that were finished.
    pub interrupted: bool,
    /// The pairs that were probed, by their CPUs.
    pub pairs: Vec<Pair>,
    /// Where a sure conclusion and sysfs exclude each other.
    pub contradictions: Vec<Contradiction>,
}

/// What was found about two logical CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The lower number first.
    pub cpus: [u32; 2],
    /// What they have in common.
    pub conclusion: Relation,
    /// How sure that is.
    pub sureness: Sureness,
    /// How they share a core, if they do.
    pub sharing: Option<Sharing>,
    /// What the conclusion rests on, or why there is none, in words.
    pub because: String,
    /// What sysfs says; `null` where it does not report it.
    pub sysfs: Option<Relation>,
    /// Two port-saturating loops at once.
    pub ports: Contention,
    /// Two chains of dependent multiplications at once.
    pub chains: Contention,
    /// The shortest round trip of a cache line between the two, in nanoseconds; `null` if none was
    /// finished in time.
    pub round_trip_ns: Option<f64>,
    /// How many rounds of windows were measured.
    pub rounds: u32,
}

/// What two logical CPUs have in common.
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

/// How sure a conclusion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sureness {
    /// Measured, in windows that admit nothing else.
    Sure,
    /// That they share no core is sure; the L3 cache is inferred from round trips that differ moderately.
    Likely,
    /// That they share no core is sure; the L3 cache is taken from sysfs alone.
    AsSysfsSays,
    /// Nothing is concluded.
    Undecided,
}

/// How two logical CPUs share a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Both run at once and compete for its ports: siblings.
    Smt,
    /// They are time-sliced, as virtual CPUs on one host CPU are.
    TimeSlicing,
}

/// What one loop on each of two CPUs did together, beside what it did alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contention {
    /// The work of both at once over the work of one alone, the best round: 1 if they share, 2 if
    /// they do not; `null` if there was none. Where both run at once, time that others took does not
    /// count.
    pub work_ratio: Option<f64>,
    /// The part of the time in which both ran, the best round: 0 if they are time-sliced.
    pub at_once: f64,
}

/// Where a sure conclusion and sysfs exclude each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// The pair.
    pub cpus: [u32; 2],
    /// What sysfs says.
    pub sysfs: Relation,
    /// What the probe found.
    pub found: Relation,
    /// Both and the evidence, in one sentence.
    pub sentence: String,
}

/// What `corun topo` shows: a machine, and the result of its probe if it was probed.
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
    /// What was found about two CPUs, in either order, if they were probed.
    pub fn pair(&self, one: u32, other: u32) -> Option<&Pair> {
        let cpus = [one.min(other), one.max(other)];
        let place = self.pairs.binary_search_by_key(&cpus, |pair| pair.cpus).ok()?;
        self.pairs.get(place)
    }

    /// Whether sysfs contradicts what was found about two CPUs, in either order.
    pub fn is_contradicted(&self, one: u32, other: u32) -> bool {
        let cpus = [one.min(other), one.max(other)];
        self.contradictions.iter().any(|contradiction| contradiction.cpus == cpus)
    }
}
