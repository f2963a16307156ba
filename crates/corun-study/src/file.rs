//! The study file as it is written: TOML, every field named, unknown ones refused.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::Metric;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::arm::StudyArm;
use crate::conclusion::Conclusion;
use crate::confinement::Fraction;
use crate::experiment::SmtNeed;
use crate::figure::RatioOf;
use crate::modelled::FileModel;
use crate::prediction::FilePrediction;
use crate::study::{Citation, Finding, PublishedMachine};

/// The `format` of a study file.
pub(crate) const FORMAT: &str = "corun-study";
/// The newest `version` that can be read.
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub format: Spanned<String>,
    pub version: Spanned<u32>,
    pub name: Spanned<String>,
    pub title: String,
    pub max_time: Spanned<String>,
    pub citation: Citation,
    pub machine: PublishedMachine,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub experiment: Vec<Spanned<FileExperiment>>,
    #[serde(default)]
    pub table: Vec<Spanned<FileTable>>,
    #[serde(default)]
    pub figure: Vec<Spanned<FileFigure>>,
    #[serde(default)]
    pub finding: Vec<Spanned<Finding>>,
    #[serde(default)]
    pub conclusion: Vec<Spanned<Conclusion>>,
    pub model: Option<Spanned<FileModel>>,
    pub prediction: Option<Spanned<FilePrediction>>,
    #[serde(default)]
    pub shares: Vec<Spanned<FileShares>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileExperiment {
    pub id: String,
    pub summary: String,
    pub workload: Option<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    #[serde(default)]
    pub arms: Vec<StudyArm>,
    #[serde(default)]
    pub smt: SmtNeed,
    pub cores: Option<u32>,
    pub confine: Option<Fraction>,
    pub work_per_worker: Option<f64>,
    #[serde(default, deserialize_with = "time")]
    pub least_run: Duration,
    pub stand_in: Option<String>,
    pub not_rerun: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileFigure {
    pub id: String,
    pub experiment: Option<String>,
    pub metric: Metric,
    pub arm: Option<StudyArm>,
    pub against: Option<StudyArm>,
    pub unit: String,
    pub value: Option<Spanned<f64>>,
    pub range: Option<[Spanned<f64>; 2]>,
    pub workers_s: Option<Vec<Spanned<f64>>>,
    pub ratio: Option<RatioOf>,
    /// Other figures whose measured values make the counterpart of `ratio`.
    pub measured_as: Option<RatioOf>,
    /// True if there is a published value at all, or only a measured one.
    #[serde(default = "yes")]
    pub published: bool,
    /// Value of the last published digit; the last digit typed where it is left out.
    pub precision: Option<f64>,
    #[serde(default)]
    pub is_truncated: bool,
    #[serde(default)]
    pub geometric_mean_of: Vec<String>,
    #[serde(default)]
    pub user_s: Vec<f64>,
    #[serde(default)]
    pub system_s: Vec<f64>,
    pub notes: Option<String>,
}

/// Jobs on some CPUs, as `top` lists them: a figure for each, largest share first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileShares {
    pub id: String,
    pub summary: String,
    pub jobs: u32,
    pub cpus: u32,
    #[serde(deserialize_with = "time")]
    pub over: Duration,
    pub topology: String,
    pub policy: String,
    /// The published shares of a CPU, largest first; left out where none were.
    pub percent: Option<Vec<Spanned<f64>>>,
    pub precision: Option<f64>,
    pub notes: Option<String>,
}

/// Experiments that differ in one word, `{row}`, with the same figures each.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileTable {
    pub summary: String,
    pub workload: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    pub arms: Vec<String>,
    #[serde(default)]
    pub smt: SmtNeed,
    pub work_per_worker: Option<f64>,
    #[serde(default, deserialize_with = "time")]
    pub least_run: Duration,
    pub columns: Vec<Column>,
    pub rows: Vec<Spanned<Row>>,
}

/// A figure of every row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub id: String,
    pub metric: Metric,
    pub arm: String,
    pub against: Option<String>,
    /// The row's own unit where it is left out.
    pub unit: Option<String>,
    pub precision: Option<f64>,
    #[serde(default)]
    pub is_truncated: bool,
    /// The columns that it follows from: one over the other.
    pub ratio: Option<[String; 2]>,
    /// True if there is a published value at all, or only a measured one.
    #[serde(default = "yes")]
    pub published: bool,
}

impl Column {
    /// True if each row has a number for it.
    pub(crate) fn is_typed(&self) -> bool {
        self.ratio.is_none() && self.published
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text)
        .map_err(|_| D::Error::custom(format!("expected a time such as 500ms, found \"{text}\"")))
}

fn yes() -> bool {
    true
}

/// One experiment, and its figures in the order of the columns that have published ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub row: String,
    /// Name in the publication.
    pub name: Option<String>,
    pub unit: Option<String>,
    pub values: Vec<Spanned<f64>>,
    pub notes: Option<RowNotes>,
}

/// Notes for the reader of a row, or of single columns of it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum RowNotes {
    /// Of every figure.
    All(String),
    /// Of the figures in these columns.
    Columns(BTreeMap<String, String>),
}

impl RowNotes {
    /// The notes on the figure in a column.
    pub(crate) fn of(&self, column: &str) -> Option<&String> {
        match self {
            Self::All(notes) => Some(notes),
            Self::Columns(columns) => columns.get(column),
        }
    }
}
