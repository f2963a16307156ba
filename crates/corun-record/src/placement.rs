//! Placements of workers: those of the design, and the arms an experiment makes of them.
//!
//! A placement is an idea ("S workers on each core"); an arm is that idea on this machine, with a
//! logical CPU for each worker. Everything downstream names arms by their `id`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::smt_state::SmtState;

/// Which logical CPUs the workers run on, C cores of SMT width S chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// One worker, alone on the machine.
    Single,
    /// One worker on each of the cores, their siblings idle; with a number: on that many cores.
    Spread(Option<u32>),
    /// S workers on each of the same cores, one per logical CPU; with a number k: k workers a core.
    Full(Option<u32>),
    /// S * floor(C/S) workers on all logical CPUs of floor(C/S) cores; with a number: that many workers, on
    /// as few cores as have logical CPUs for them.
    Packed(Option<u32>),
    /// So many workers, dealt round the cores: one on each, then a second on each, and so on.
    Scatter(u32),
    /// max(S, 2) workers time-sliced on one logical CPU of each core, siblings idle.
    Stacked,
    /// No pinning: the kernel places the workers; with a number: that many workers.
    Free(Option<u32>),
    /// A worker on each of some logical CPUs, which the request lists and the [`Arm`] has.
    Cpus,
}

impl Placement {
    /// A summary of the placement in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Single => "one worker, alone on the machine",
            Self::Spread(_) => "one worker a core, siblings idle",
            Self::Full(None) => "a worker on every logical CPU of the same cores",
            Self::Full(Some(_)) => "that many workers on each of the same cores",
            Self::Packed(None) => "as many workers as spread, on all logical CPUs of fewer cores",
            Self::Packed(Some(_)) => {
                "that many workers, on all logical CPUs of as few cores as hold them"
            }
            Self::Scatter(_) => {
                "that many workers dealt round the cores: siblings when every core has one"
            }
            Self::Stacked => "workers time-sliced on one logical CPU of each core",
            Self::Free(_) => "no pinning: the kernel places the workers",
            Self::Cpus => "a worker on each of the logical CPUs that were listed",
        }
    }

    fn parts(self) -> (&'static str, Option<u32>) {
        match self {
            Self::Single => ("single", None),
            Self::Spread(number) => ("spread", number),
            Self::Full(number) => ("full", number),
            Self::Packed(number) => ("packed", number),
            Self::Scatter(number) => ("scatter", Some(number)),
            Self::Stacked => ("stacked", None),
            Self::Free(number) => ("free", number),
            Self::Cpus => (CPUS, None),
        }
    }
}

/// Name of [`Placement::Cpus`] in documents; as a request it would lack its CPUs.
const CPUS: &str = "cpus";

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (name, None) => f.write_str(name),
            (name, Some(number)) => write!(f, "{name}@{number}"),
        }
    }
}

/// A text that names no placement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a placement (single, spread, spread@N, full, full@K, packed, packed@N, scatter@N, stacked, free or free@N), found \"{0}\""
)]
pub struct UnknownPlacement(pub String);

/// Workers that a placement can ask for: more than any machine has logical CPUs.
const MOST: u32 = 1 << 16;

impl FromStr for Placement {
    type Err = UnknownPlacement;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownPlacement(text.to_owned());
        let (name, number) = match text.split_once('@') {
            None => (text, None),
            Some((name, digits)) => match digits.parse() {
                Ok(number) if (1..=MOST).contains(&number) => (name, Some(number)),
                _ => return Err(unknown()),
            },
        };
        match (name, number) {
            ("single", None) => Ok(Self::Single),
            ("spread", number) => Ok(Self::Spread(number)),
            ("full", number) => Ok(Self::Full(number)),
            ("packed", number) => Ok(Self::Packed(number)),
            ("scatter", Some(number)) => Ok(Self::Scatter(number)),
            ("stacked", None) => Ok(Self::Stacked),
            ("free", number) => Ok(Self::Free(number)),
            _ => Err(unknown()),
        }
    }
}

impl Serialize for Placement {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            CPUS => Ok(Self::Cpus),
            text => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for Placement {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Placement".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Placement of the workers; `@K` is K workers a core, `@N` N workers, `cpus` one on each CPU of the arm.",
            "pattern": "^(single|stacked|cpus|(spread|full|packed|free)(@[1-9][0-9]*)?|scatter@[1-9][0-9]*)$"
        })
    }
}

/// One arm of an experiment: a placement on this machine, for one core type and one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// The name other parts of a run use for this arm, for instance `full` or `spread.aa`.
    pub id: String,
    /// Placement of the workers.
    pub placement: Placement,
    /// The core type, on a machine that has several.
    pub core_type: Option<String>,
    /// A workload parameter that differs from the other arms', for instance data sharing a line.
    pub variant: Option<Variant>,
    /// The arm that this one repeats, for the A/A comparison.
    pub twin_of: Option<String>,
    /// Number of workers.
    pub workers: u32,
    /// Number of cores they use; 0 where the kernel places them.
    pub cores: u32,
    /// The logical CPU of each worker, in worker order; empty where the kernel places them.
    pub cpus: Vec<u32>,
    /// Siblings of used CPUs that ought to stay idle.
    pub idle_siblings: Vec<u32>,
    /// The state that SMT is put into for this arm; absent where the experiment does not switch it.
    #[serde(default)]
    pub smt: Option<SmtState>,
}

impl Arm {
    /// The arm of a placement, by its name; nothing varies but the placement.
    pub fn new(placement: Placement, workers: u32, cores: u32, cpus: Vec<u32>) -> Self {
        Self {
            id: placement.to_string(),
            placement,
            core_type: None,
            variant: None,
            twin_of: None,
            workers,
            cores,
            cpus,
            idle_siblings: Vec::new(),
            smt: None,
        }
    }

    /// True if each worker has a CPU: such workers wait for other work alone, while workers that share CPUs, or are
    /// placed by the kernel, wait for each other too.
    pub fn has_cpus_of_its_own(&self) -> bool {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        !cpus.is_empty() && cpus.len() == self.cpus.len()
    }
}

/// A workload parameter set differently in some arms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Name of the variant in tables, for instance `shared-line`.
    pub name: String,
    /// The workload's parameter.
    pub parameter: String,
    /// Value of the variant in this arm.
    pub value: String,
}

/// A placement that this machine or this request does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementNotPossible {
    /// The placement.
    pub placement: Placement,
    /// The core type it was wanted for, on a machine that has several.
    pub core_type: Option<String>,
    /// Why not, as one sentence.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_placement_survives_its_text() {
        for text in [
            "single",
            "spread",
            "spread@6",
            "full",
            "full@3",
            "packed",
            "packed@3",
            "scatter@6",
            "stacked",
            "free@5",
        ] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn listed_cpus_are_a_placement_of_documents_alone() {
        let json = serde_json::to_string(&Placement::Cpus).unwrap();
        assert_eq!(serde_json::from_str::<Placement>(&json).unwrap(), Placement::Cpus);
        "cpus".parse::<Placement>().unwrap_err();
    }

    #[test]
    fn a_wrong_placement_is_named_in_the_error() {
        for text in
            ["", "fast", "full@0", "full@", "single@2", "full@-1", "full@k", "scatter", "scatter@0"]
        {
            let error = text.parse::<Placement>().unwrap_err();
            assert!(error.to_string().ends_with(&format!("found \"{text}\"")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = text.parse::<Placement>();
        }
    }
}
