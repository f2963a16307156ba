//! A property of a scheduler: the load that shows it, what is read from the timeline, and the bound
//! that it has to keep.

use corun_record::{AuditBound, AuditPropertyList, ListedAuditProperty, Metric, Observation};

use crate::facts::Facts;
use crate::load::Load;
use crate::timeline::Timeline;

/// Something that a scheduler is expected to do.
#[derive(Debug)]
pub struct Property {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// The question that it answers, one line.
    pub question: &'static str,
    /// Source of the expectation.
    pub source: &'static str,
    /// True if it is audited only where it is named, since it takes long.
    pub is_by_name_only: bool,
    /// Plan to show it on a machine, or why it cannot be, as the end of a sentence.
    pub plan: fn(&Facts) -> Result<PropertyPlan, String>,
}

/// The properties as a document.
pub fn property_list(properties: &[&Property], facts: &Facts) -> AuditPropertyList {
    let listed = |property: &&Property| ListedAuditProperty {
        name: property.name.to_owned(),
        question: property.question.to_owned(),
        source: property.source.to_owned(),
        is_by_name_only: property.is_by_name_only,
        not_possible: (property.plan)(facts).err(),
    };
    AuditPropertyList { properties: properties.iter().map(listed).collect() }
}

/// Plan to show a property on a machine.
pub struct PropertyPlan {
    /// Expected observation, in a few words.
    pub expected: String,
    /// Bound of the first figure.
    pub bound: AuditBound,
    /// Loads, one after another, in each round.
    pub loads: Vec<Load>,
    /// The figures of one round, from what was seen of each load; the first one is judged.
    pub read: Read,
    /// Observation, in a few words, from the figures of all rounds.
    pub observed: fn(&[Observation]) -> String,
}

/// The figures of one round, from what was seen of each load.
pub type Read = Box<dyn Fn(&[Timeline]) -> Vec<Reading>>;

/// A figure of one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The figure.
    pub figure: Figure,
    /// The value.
    pub value: f64,
    /// Part of a departure from the bound others' work could account for, in the same unit.
    pub attributed: f64,
}

/// A figure of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Metric of the figure.
    pub metric: Metric,
    /// Quantity counted or timed.
    pub of: &'static str,
    /// The load, in the words of placements: `free@5` is five workers that the kernel places.
    pub arm: String,
    /// Unit; `1` for shares.
    pub unit: &'static str,
}

impl Figure {
    /// A share of time, or of events.
    pub fn share(of: &'static str, arm: impl Into<String>) -> Self {
        Self { metric: Metric::TimeShare, of, arm: arm.into(), unit: "1" }
    }

    /// A time, in seconds.
    pub fn time(of: &'static str, arm: impl Into<String>) -> Self {
        Self { metric: Metric::Latency, of, arm: arm.into(), unit: "s" }
    }

    /// With a value, and what others could account for.
    pub fn reads(self, value: f64, attributed: f64) -> Reading {
        Reading { figure: self, value, attributed }
    }
}

/// The estimate of the figure at this place; NaN where it was never read.
pub(crate) fn value(seen: &[Observation], place: usize) -> f64 {
    seen.get(place).map_or(f64::NAN, |it| it.estimate.value)
}

/// A time in the unit that suits it: `12 ms`, `40 µs`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        0.01.. => format!("{:.0} ms", seconds * 1e3),
        0.001.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.0} µs", seconds * 1e6),
    }
}
