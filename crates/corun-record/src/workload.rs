//! The built-in workloads as documents: what each does, and what can be set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// List of `corun bench list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadList {
    /// The workloads, in the order of the registry.
    pub workloads: Vec<WorkloadDescription>,
}

/// A workload in full, as `corun bench show` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadDescription {
    /// Name of the workload, as the command line takes it.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// Resources that it exercises: with its default parameters first, then what its parameters can add.
    pub tags: Vec<String>,
    /// Parameters.
    pub parameters: Vec<WorkloadParameter>,
    /// Meaning of one operation.
    pub operation: String,
    /// Unit of its rate: a plural noun.
    pub counted: String,
    /// Kind of its workers unless the user says otherwise.
    pub default_mode: DefaultMode,
    /// The placements in which it shows what it is about.
    pub default_placement: DefaultPlacement,
    /// Parameters that make two workers share a cache line, if that is possible.
    pub line_sharing: Option<LineSharing>,
    /// The most that each worker writes to temporary files, in bytes.
    pub disk_bytes: u64,
    /// The fewest operations of a worker that are like the work it stands for.
    pub least_operations: u64,
    /// The row of a published suite that it is; absent for a workload of corun's own.
    pub row: Option<SuiteRow>,
    /// Tallies counted beside operations.
    pub tallies: Vec<WorkloadTally>,
    /// Overhead subtracted from its time.
    pub subtracts: Option<String>,
    /// Why it cannot run on this machine.
    pub unavailable: Option<String>,
}

/// A parameter of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadParameter {
    /// The name before the equals sign.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// The value it has unless set.
    pub default: String,
    /// The values it takes.
    pub domain: ParameterDomain,
    /// The expected values in words.
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
        /// Unit that is counted, a plural noun.
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
    /// Meaning in one line.
    pub summary: String,
}

/// Kind of the workers of a workload.
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
    /// Name in the table.
    pub name: String,
    /// Meaning of its figure.
    pub figure: RowFigure,
    /// Operations that the original counts for each that it does.
    pub credit: f64,
}

/// Form of a workload's speed in a table.
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
    /// Unit that is counted: a plural noun.
    pub counted: String,
}

impl Body for WorkloadList {
    const FORMAT: &str = "corun-workloads";
}

impl Body for WorkloadDescription {
    const FORMAT: &str = "corun-workload";
}
