//! An audit: what the kernel's scheduler was expected to do with controlled loads, and what it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::observation::Observation;
use crate::record::Body;
use crate::run::{Caveat, Ending, MachineSummary};

/// List of `corun audit --list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPropertyList {
    /// The properties, in the order of the table.
    pub properties: Vec<ListedAuditProperty>,
}

/// A property that can be audited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedAuditProperty {
    /// Name of the property, as the command line takes it.
    pub name: String,
    /// The question that it answers, one line.
    pub question: String,
    /// Source of the expectation.
    pub source: String,
    /// True if it is audited only where it is named, since it takes long.
    pub is_by_name_only: bool,
    /// Why it cannot be shown on this machine, as the end of a sentence.
    pub not_possible: Option<String>,
}

impl Body for AuditPropertyList {
    const FORMAT: &str = "corun-audit-properties";
}

/// Document that `corun audit --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Always `corun-audit`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Duration of the audit, in seconds.
    pub elapsed_s: f64,
    /// The time allowed, in seconds.
    pub max_time_s: f64,
    /// The seed of the order of properties in each round.
    pub seed: u64,
    /// Finished rounds: every property once, in a fresh random order.
    pub rounds: u32,
    /// Why it ended.
    pub ending: Ending,
    /// The machine.
    pub machine: MachineSummary,
    /// The logical CPUs that free loads were pinned to, where that was asked for.
    pub pinned_to: Option<Vec<u32>>,
    /// The source of the times of other tasks.
    pub evidence_source: EvidenceSource,
    /// The properties.
    pub rows: Vec<AuditRow>,
    /// Limits of trust, a sentence each.
    pub caveats: Vec<Caveat>,
}

/// The source of the times of other tasks while loads ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// Every context switch of every CPU.
    ContextSwitches,
    /// The CPU times in `/proc`.
    Accounts,
}

/// A property of the scheduler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRow {
    /// Name of the property.
    pub property: String,
    /// The question that it answers.
    pub question: String,
    /// Expected observation, in a few words; absent where it is not possible.
    pub expected: Option<String>,
    /// Bound of the first observation.
    pub bound: Option<AuditBound>,
    /// Observation, in a few words; absent where nothing was.
    pub observed: Option<String>,
    /// The answer.
    pub verdict: AuditVerdict,
    /// Why the answer is not clear, why there is none, or why it is of fewer rounds than there were.
    pub reason: Option<String>,
    /// The figures: the first one is judged.
    pub observations: Vec<Observation>,
    /// The figures of each round.
    pub readings: Vec<AuditReading>,
}

/// Bound of a figure, limits included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditBound {
    /// Not below this.
    pub at_least: Option<f64>,
    /// Not above this.
    pub at_most: Option<f64>,
}

/// A figure of one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReading {
    /// The round, from 0.
    pub round: u32,
    /// The load, as in the observation that it belongs to.
    pub arm: String,
    /// Quantity counted or timed, as in that observation.
    pub of: String,
    /// The figure.
    pub value: f64,
    /// Part of a departure from the bound can be attributed to other tasks, in the same unit.
    pub attributed: f64,
}

/// The answers that an audit can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditVerdict {
    /// The property is shown to hold, within its bound.
    Holds,
    /// The property is shown not to hold, whatever others did meanwhile.
    Violated,
    /// The observations decide nothing.
    Inconclusive,
    /// It cannot be shown on this machine, or by this user.
    NotPossible,
}

impl AuditBound {
    /// At most this.
    pub fn at_most(most: f64) -> Self {
        Self { at_least: None, at_most: Some(most) }
    }

    /// At least this.
    pub fn at_least(least: f64) -> Self {
        Self { at_least: Some(least), at_most: None }
    }

    /// So close to a value.
    pub fn within(value: f64, reach: f64) -> Self {
        Self { at_least: Some(value - reach), at_most: Some(value + reach) }
    }

    /// True if an interval lies within the bound.
    pub fn holds(self, low: f64, high: f64) -> bool {
        self.at_least.is_none_or(|least| low >= least)
            && self.at_most.is_none_or(|most| high <= most)
    }

    /// True if an interval lies beyond the bound.
    pub fn excludes(self, low: f64, high: f64) -> bool {
        self.at_least.is_some_and(|least| high < least)
            || self.at_most.is_some_and(|most| low > most)
    }
}

impl AuditVerdict {
    /// The answer in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Inconclusive => "inconclusive",
            Self::NotPossible => "not possible here",
        }
    }
}

impl Document for Audit {
    const FORMAT: &str = "corun-audit";
}
