//! Published experiments as documents, before they are run: the list, and one in full with how it would
//! be run on this machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Estimate;
use crate::observation::Metric;
use crate::record::Body;
use crate::study::{ColumnError, ModelRole, Published, StudyFinding};

/// What `corun study list` shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyList {
    /// The studies that come with corun.
    pub studies: Vec<ListedStudy>,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedStudy {
    /// Its name, as the command line takes it.
    pub name: String,
    /// What it is about, one line.
    pub title: String,
    /// The year of the publication.
    pub year: u16,
    /// How many figures it has.
    pub figures: usize,
    /// How long a rerun may take unless the user says otherwise, in seconds.
    pub max_time_s: f64,
}

/// What `corun study show` shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyDescription {
    /// Its name.
    pub name: String,
    /// What it is about, one line.
    pub title: String,
    /// Where it was published, one line.
    pub citation: String,
    /// The machine of the publication, one line.
    pub published_on: String,
    /// What else a reader should know, a sentence each.
    pub notes: Vec<String>,
    /// How long a rerun may take unless the user says otherwise, in seconds.
    pub max_time_s: f64,
    /// How it is measured again.
    pub experiments: Vec<StudyExperiment>,
    /// What was published.
    pub figures: Vec<DescribedFigure>,
    /// How far the predicted figures lie from the published ones.
    #[serde(default)]
    pub errors: Vec<ColumnError>,
    /// What the publication concludes and its figures do not support, or not by that name.
    pub findings: Vec<StudyFinding>,
}

/// An experiment, and how it would be run on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyExperiment {
    /// Its name in the study.
    pub id: String,
    /// What was run, one line.
    pub summary: String,
    /// What is run in its place; absent where corun does not run it.
    pub work: Option<ExperimentWork>,
    /// How it would be run on this machine.
    pub plan: Option<ExperimentPlan>,
    /// Why it cannot be run on this machine.
    pub not_possible: Option<String>,
}

/// What is run in an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentWork {
    /// A built-in workload.
    pub workload: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// The part of the machine's cores that it is kept on: `1/2`.
    pub confine: Option<String>,
    /// How many cores it uses, where not all of them.
    pub cores: Option<u32>,
    /// What the workload stands for, where it is not the published one.
    pub stand_in: Option<String>,
}

/// How an experiment would be run on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentPlan {
    /// The arms of the study.
    pub arms: Vec<ExperimentArm>,
    /// The logical CPUs that everything is kept on, where not on all: `0-3`.
    pub cpus: Option<String>,
    /// What is done with SMT.
    pub smt: ExperimentSmt,
}

/// An arm of a study on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentArm {
    /// As the study names it.
    pub arm: String,
    /// Its id in a run here.
    pub id: Option<String>,
    /// Why it cannot be run here.
    pub not_possible: Option<String>,
}

/// What an experiment does with SMT.
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
    /// Its id, unique in the study.
    pub id: String,
    /// What it says.
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
    /// What was published, or follows from published figures; absent where nothing was.
    pub published: Option<Published>,
    /// What the simulated core, or the model of the scheduler, predicts for the published machine.
    #[serde(default)]
    pub predicted: Option<Estimate>,
    /// What the published figure is to the model that predicts it.
    #[serde(default)]
    pub model_role: Option<ModelRole>,
    /// Why there is no predicted value, where the study says.
    #[serde(default)]
    pub not_predicted: Option<String>,
    /// What a reader should know.
    pub notes: Option<String>,
}

impl Body for StudyList {
    const FORMAT: &str = "corun-studies";
}

impl Body for StudyDescription {
    const FORMAT: &str = "corun-study-description";
}
