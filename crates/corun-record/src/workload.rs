//! The built-in workloads as documents: what each does, and what can be set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// What `corun bench list` shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadList {
    /// The workloads, in the order of the registry.
    pub workloads: Vec<WorkloadDescription>,
}

/// A workload in full, as `corun bench show` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadDescription {
    /// Its name, as the command line takes it.
    pub name: String,
    /// What it does, one line.
    pub summary: String,
    /// What it exercises: with its default parameters first, then what its parameters can add.
    pub tags: Vec<String>,
    /// What can be set.
    pub parameters: Vec<WorkloadParameter>,
    /// What one operation is.
    pub operation: String,
    /// What its rate counts: a plural noun.
    pub counted: String,
    /// How its workers come about unless the user says otherwise.
    pub default_mode: DefaultMode,
    /// The placements in which it shows what it is about.
    pub default_placement: DefaultPlacement,
    /// How to make two workers share a cache line, if that is possible.
    pub line_sharing: Option<LineSharing>,
    /// The most that each worker writes to temporary files, in bytes.
    pub disk_bytes: u64,
    /// The fewest operations of a worker that are like the work it stands for.
    pub least_operations: u64,
    /// The row of a published suite that it is; absent for a workload of corun's own.
    pub row: Option<SuiteRow>,
    /// What else is counted beside operations.
    pub tallies: Vec<WorkloadTally>,
    /// What is subtracted from its time.
    pub subtracts: Option<String>,
    /// Why it cannot run on this machine.
    pub unavailable: Option<String>,
}

/// A parameter of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadParameter {
    /// The name before the equals sign.
    pub name: String,
    /// What it sets, one line.
    pub summary: String,
    /// The value it has unless set.
    pub default: String,
    /// The values it takes.
    pub domain: ParameterDomain,
    /// The same in words.
    pub expected: String,
}

/// The values that a parameter takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "values", rename_all = "kebab-case")]
pub enum ParameterDomain {
    /// One of these.
    Choice(Vec<ParameterChoice>),
    /// The path of a file.
    File,
    /// A whole number.
    Count {
        /// What is counted, a plural noun.
        unit: String,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
    /// A number of bytes.
    Size {
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
        /// Every value is a multiple of this many bytes.
        multiple_of: u64,
    },
}

/// One of the values of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParameterChoice {
    /// The value, as a user types it.
    pub value: String,
    /// What it means, one line.
    pub summary: String,
}

/// How the workers of a workload come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultMode {
    /// A process for each.
    Copies,
    /// Threads of one process, with work for each.
    Workers,
    /// Threads of one process that do a fixed total together. Some may only wait, or hand the work on: each kernel is given
    /// the whole number of operations.
    WorkersTotal,
}

/// The placements in which a workload shows what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultPlacement {
    /// One worker alone.
    Alone,
    /// Workers with their siblings idle, and with their siblings at work.
    Siblings,
    /// Two workers that take turns on one logical CPU, and two that have one each.
    Switched,
    /// One worker more than there are logical CPUs.
    Crowd,
}

/// A parameter that decides whether two workers of one process share a cache line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineSharing {
    /// The parameter's name.
    pub parameter: String,
    /// The value that puts workers 0 and 1 into one line.
    pub shared: String,
    /// The value that gives each worker lines of its own.
    pub own: String,
}

/// A row of a published suite's table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRow {
    /// The suite.
    pub suite: String,
    /// What the table calls it.
    pub name: String,
    /// What its figure says.
    pub figure: RowFigure,
    /// Operations that the original counts for each that it does.
    pub credit: f64,
}

/// How a table gives a workload's speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RowFigure {
    /// Microseconds for one operation.
    Microseconds,
    /// Operations per second.
    Rate {
        /// Operations of one unit.
        per: f64,
        /// The unit.
        unit: String,
    },
}

/// Another count of the same work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadTally {
    /// What is counted: a plural noun.
    pub counted: String,
}

impl Body for WorkloadList {
    const FORMAT: &str = "corun-workloads";
}

impl Body for WorkloadDescription {
    const FORMAT: &str = "corun-workload";
}
