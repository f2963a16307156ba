//! Published experiments as documents, before they are run: the list, and one in full with how it would
//! be run on this machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Estimate;
use crate::observation::Metric;
use crate::record::Body;
use crate::study::{ColumnError, ModelRole, Published, StudyFinding};

/// List of `corun study list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyList {
    /// The studies that come with corun.
    pub studies: Vec<ListedStudy>,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedStudy {
    /// Name of the study, as the command line takes it.
    pub name: String,
    /// Subject in one line.
    pub title: String,
    /// The year of the publication.
    pub year: u16,
    /// Number of figures.
    pub figures: usize,
    /// Time limit of a rerun unless the user says otherwise, in seconds.
    pub max_time_s: f64,
}

/// Document of `corun study show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyDescription {
    /// Name of the study.
    pub name: String,
    /// Subject in one line.
    pub title: String,
    /// Citation of the publication, in one line.
    pub citation: String,
    /// The machine of the publication, one line.
    pub published_on: String,
    /// Notes for the reader, a sentence each.
    pub notes: Vec<String>,
    /// Time limit of a rerun unless the user says otherwise, in seconds.
    pub max_time_s: f64,
    /// Experiments that measure it again.
    pub experiments: Vec<StudyExperiment>,
    /// Published figures.
    pub figures: Vec<DescribedFigure>,
    /// Errors of the predicted figures against the published ones.
    #[serde(default)]
    pub errors: Vec<ColumnError>,
    /// Conclusions of the publication that its figures do not support, or not by that name.
    pub findings: Vec<StudyFinding>,
}

/// An experiment, and how it would be run on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyExperiment {
    /// Name of the experiment in the study.
    pub id: String,
    /// The published work, in one line.
    pub summary: String,
    /// The work that is run in its place; absent where corun does not run it.
    pub work: Option<ExperimentWork>,
    /// Plan of its run on this machine.
    pub plan: Option<ExperimentPlan>,
    /// Why it cannot be run on this machine.
    pub not_possible: Option<String>,
}

/// Work of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentWork {
    /// A built-in workload.
    pub workload: String,
    /// Parameters of the workload.
    pub parameters: BTreeMap<String, String>,
    /// The part of the machine's cores that it is kept on: `1/2`.
    pub confine: Option<String>,
    /// Number of cores it uses, where not all of them.
    pub cores: Option<u32>,
    /// Published workload that it replaces, where it is another.
    pub stand_in: Option<String>,
}

/// Plan of an experiment on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentPlan {
    /// The arms of the study.
    pub arms: Vec<ExperimentArm>,
    /// The logical CPUs that everything is kept on, where not on all: `0-3`.
    pub cpus: Option<String>,
    /// Use of SMT.
    pub smt: ExperimentSmt,
}

/// An arm of a study on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentArm {
    /// As the study names it.
    pub arm: String,
    /// Id of the arm in a run here.
    pub id: Option<String>,
    /// Why it cannot be run here.
    pub not_possible: Option<String>,
}

/// Use of SMT by an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExperimentSmt {
    /// Nothing: it is run in the state that is found.
    AsFound,
    /// SMT is switched on for it.
    On,
    /// SMT is switched off for it.
    Off,
    /// SMT is switched off and on in cycles.
    Cycles,
}

/// A figure of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DescribedFigure {
    /// Id of the figure, unique in the study.
    pub id: String,
    /// Metric of the figure.
    pub metric: Metric,
    /// The arm it is said of.
    pub arm: Option<String>,
    /// The arm it is compared with.
    pub against: Option<String>,
    /// The experiment that measures it again.
    pub experiment: Option<String>,
    /// The unit of its values; `1` for ratios.
    pub unit: String,
    /// Digits after the decimal point of the published value.
    pub decimals: u32,
    /// Published value, or one that follows from published figures; absent where nothing was.
    pub published: Option<Published>,
    /// Prediction of the simulated core, or of the model of the scheduler, for the published machine.
    #[serde(default)]
    pub predicted: Option<Estimate>,
    /// Role of the published figure in the model that predicts it.
    #[serde(default)]
    pub model_role: Option<ModelRole>,
    /// Why there is no predicted value, where the study says.
    #[serde(default)]
    pub not_predicted: Option<String>,
    /// Notes for the reader.
    pub notes: Option<String>,
}

impl Body for StudyList {
    const FORMAT: &str = "corun-studies";
}

impl Body for StudyDescription {
    const FORMAT: &str = "corun-study-description";
}
