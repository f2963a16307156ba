//! A study's result: every published figure beside what this machine measured, and what the
//! publication's own figures say about its conclusions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::observation::{Estimate, Metric};
use crate::run::{Caveat, Ending, MachineSummary, Run};

/// Document that `corun study run --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyResult {
    /// Always `corun-study-result`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// The study's name.
    pub study: String,
    /// Subject of the study, in one line.
    pub title: String,
    /// Citation of the publication, in one line.
    pub citation: String,
    /// The machine of the publication, one line.
    pub published_on: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Duration of all experiments, in seconds.
    pub elapsed_s: f64,
    /// The time allowed, in seconds.
    pub max_time_s: f64,
    /// Why it ended.
    pub ending: Ending,
    /// The machine it was rerun on; absent where nothing could be rerun.
    pub machine: Option<MachineSummary>,
    /// Limits of trust in every run, a sentence each.
    #[serde(default)]
    pub caveats: Vec<Caveat>,
    /// Every figure of the study, in its order.
    pub figures: Vec<StudyFigure>,
    /// Error of each column against the published figures.
    #[serde(default)]
    pub errors: Vec<ColumnError>,
    /// Conclusions of the publication that its figures do not support, or not by that name.
    pub findings: Vec<StudyFinding>,
    /// The publication's conclusions, and which of them hold on this machine.
    #[serde(default)]
    pub conclusions: Vec<StudyConclusion>,
    /// Parts that were cut short, a sentence each.
    pub cut_short: Vec<String>,
    /// The runs behind the measured figures; each is what `corun measure --json` writes.
    pub runs: Vec<Run>,
}

/// A published figure and its counterparts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyFigure {
    /// The figure's id, unique in the study.
    pub id: String,
    /// The experiment that it belongs to, if one alone.
    pub experiment: Option<String>,
    /// Metric of the figure.
    pub metric: Metric,
    /// The arm it is said of, in the study's words: `free@2C` is two workers a core.
    pub arm: Option<String>,
    /// The arm it is compared with.
    pub against: Option<String>,
    /// The unit of all values below; `1` for ratios.
    pub unit: String,
    /// Published value, or one that follows from published figures; absent where nothing was.
    pub published: Option<Published>,
    /// Value measured on this machine: for a time, that of the published work.
    pub measured: Option<Estimate>,
    /// CPU time of all workers within the measured time, where the figure is a time.
    #[serde(default)]
    pub measured_cpu: Option<CpuTime>,
    /// Measured over published.
    pub ratio: Option<Estimate>,
    /// Prediction of the simulated core, or of the model of the scheduler, for the published machine.
    pub predicted: Option<Estimate>,
    /// Role of the published figure in the model that predicts it.
    #[serde(default)]
    pub model_role: Option<ModelRole>,
    /// Why there is no predicted value, where the study says.
    #[serde(default)]
    pub not_predicted: Option<String>,
    /// Why there is no measured value.
    pub not_possible: Option<String>,
    /// The run that it was measured in, as an index.
    pub run: Option<u32>,
}

/// CPU time, in the unit of its figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// Error of a column of a study against the published figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnError {
    /// The column.
    pub column: StudyColumn,
    /// Number of figures with both a published value and one in the column that nothing was fitted to.
    pub figures: usize,
    /// The mean of |value / published - 1| over them.
    pub mean: f64,
    /// Median of the errors.
    pub median: f64,
}

/// A column beside the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StudyColumn {
    /// Prediction for the published machine.
    Predicted,
    /// Measurement here.
    Measured,
}

/// Role of a published figure in the model that predicts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// The model's parameters were fitted to it, or to one that it follows from.
    Fitted,
    /// Nothing was fitted to it.
    HeldOut,
    /// It counts for nothing; the study says why.
    LeftOut,
    /// It follows from published figures, or is a constant, whatever the model says.
    Arithmetic,
}

impl ModelRole {
    /// As tables and CSV have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::HeldOut => "held out",
            Self::LeftOut => "left out",
            Self::Arithmetic => "arithmetic",
        }
    }
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The value; the mean of `low` and `high` where a range was published.
    pub value: f64,
    /// The smallest value that its digits allow.
    pub low: f64,
    /// The largest value that its digits allow.
    pub high: f64,
    /// True if corun computed it from other published figures.
    pub computed: bool,
    /// Digits after the decimal point, as published; absent where it was computed.
    #[serde(default)]
    pub decimals: Option<u32>,
    /// The time of each worker, in seconds, where that was published; `value` is the largest.
    #[serde(default)]
    pub workers_s: Vec<f64>,
    /// CPU time in user mode, in seconds, of each process or of all together, where published.
    #[serde(default)]
    pub user_s: Vec<f64>,
    /// CPU time in the kernel, in seconds, likewise.
    #[serde(default)]
    pub system_s: Vec<f64>,
}

/// A conclusion that the publication's own figures do not support, or not by that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyFinding {
    /// The finding's id.
    pub id: String,
    /// Kind of the mistake.
    #[serde(default)]
    pub kind: FindingKind,
    /// The claim.
    pub claim: String,
    /// Values computed from the published figures, a line each.
    pub computed: Vec<String>,
    /// Correction: what the figures show instead.
    pub correction: String,
}

/// A conclusion of the publication, judged by ratios that were measured on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyConclusion {
    /// The conclusion's id.
    pub id: String,
    /// Conclusion of the publication.
    pub claim: String,
    /// Answer on this machine.
    pub answer: ConclusionAnswer,
    /// The ratio that decides, or why there is none.
    pub reason: String,
}

/// Answer to a conclusion on this machine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConclusionAnswer {
    /// The whole interval of the ratio keeps the conclusion's limits.
    Holds,
    /// The whole interval lies outside of them.
    DoesNotHold,
    /// The interval reaches across a limit.
    Undecided,
    /// The ratio was not measured.
    NotMeasured,
}

impl ConclusionAnswer {
    /// Every answer, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Holds, Self::DoesNotHold, Self::Undecided, Self::NotMeasured];

    /// As sentences have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds here",
            Self::DoesNotHold => "does not hold here",
            Self::Undecided => "not decided here",
            Self::NotMeasured => "not measured here",
        }
    }
}

/// Kind of mistake in a conclusion.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The publication's own figures do not support it.
    #[default]
    Unsupported,
    /// The figures are right, but the conclusion calls them by another name.
    Misnamed,
}

impl FindingKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Unsupported, Self::Misnamed];

    /// The heading above conclusions of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Unsupported => "Conclusions that the published figures do not support",
            Self::Misnamed => "Published figures that are right and need another name",
        }
    }
}

impl Document for StudyResult {
    const FORMAT: &str = "corun-study-result";
}
