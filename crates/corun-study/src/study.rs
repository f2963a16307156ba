//! A study: what a publication measured, on what, how to measure it again, and which of its
//! conclusions its figures do not support.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Estimate, FindingKind, ModelRole, Published, StudyFinding};
use serde::Deserialize;

use crate::computation::Computation;
use crate::conclusion::Conclusion;
use crate::experiment::Experiment;
use crate::figure::{By, Figure, Value, figure_of};
use crate::following::add_following;
use crate::modelled::Model;
use crate::prediction::{Prediction, SimulatedCycles};
use crate::range::Range;
use crate::shares::Shares;

/// A published experiment as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name that users type.
    pub name: String,
    /// Subject in one line.
    pub title: String,
    /// Time limit of a rerun, unless the user says otherwise.
    pub max_time: Duration,
    /// Citation of the publication.
    pub citation: Citation,
    /// Machine that it was measured on.
    pub machine: PublishedMachine,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Experiments that measure it again.
    pub experiments: Vec<Experiment>,
    /// Published figures.
    pub figures: Vec<Figure>,
    /// Conclusions that do not follow, or has another name.
    pub findings: Vec<Finding>,
    /// Conclusions of the publication, as limits of ratios.
    pub conclusions: Vec<Conclusion>,
    /// Model of its figures, if they are.
    pub model: Option<Model>,
    /// Prediction of its figures by simulation, if they are.
    pub prediction: Option<Prediction>,
}

/// Citation of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// Who measured.
    pub authors: Vec<String>,
    /// The publication's title.
    pub title: String,
    /// The journal, list or site.
    #[serde(rename = "where")]
    pub place: String,
    /// The year.
    pub year: u16,
    /// Link to read it: an address, or a message's id.
    pub link: Option<String>,
}

/// Machine that figures were measured on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedMachine {
    /// The CPU model.
    pub cpu: String,
    /// Cores.
    pub cores: u32,
    /// Logical CPUs with SMT on.
    pub logical_cpus: u32,
    /// Logical CPUs a core with SMT on.
    pub smt_width: u32,
    /// The kernel, if it was published.
    pub kernel: Option<String>,
    /// Notes on it.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A conclusion that the publication's own figures do not support, or not by that name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Name, unique in the study.
    pub id: String,
    /// Kind of the mistake.
    #[serde(default)]
    pub kind: FindingKind,
    /// Claim, in corun's own words.
    pub claim: String,
    /// Computations from the figures.
    pub computation: Vec<Computation>,
    /// Correction of the claim.
    pub correction: String,
}

impl Study {
    /// The figure of this id.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        figure_of(&self.figures, id)
    }

    /// Published value of a figure, or one that follows from what was published; `None` where nothing was.
    pub fn published(&self, figure: &Figure) -> Option<Published> {
        let Range { value, low, high } = figure.range(&self.figures, By::Makespan)?;
        let computed = matches!(figure.value, Value::Computed(_));
        let workers_s = match &figure.value {
            Value::Workers(seconds) => seconds.iter().map(|it| it.value).collect(),
            _ => Vec::new(),
        };
        Some(Published {
            value,
            low,
            high,
            computed,
            decimals: (!computed).then_some(figure.decimals),
            workers_s,
            user_s: figure.user_s.clone(),
            system_s: figure.system_s.clone(),
        })
    }
}

/// A predicted figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedValue {
    /// In the unit of its quantity.
    pub estimate: Estimate,
    /// Relation of the published figure to the figures that predict it.
    pub role: ModelRole,
}

/// True if two predictions are one, but for rounding.
fn is_equal(one: &Estimate, other: &Estimate) -> bool {
    (one.value / other.value - 1.0).abs() < 1e-9
}

impl Study {
    /// The predicted figures by id: of the simulated core, of the model of the scheduler, and those that follow.
    pub fn predicted(&self, cycles: &SimulatedCycles) -> BTreeMap<String, PredictedValue> {
        let modelled =
            self.model.as_ref().map(|it| it.estimates(&self.figures)).unwrap_or_default();
        let shares = self.modelled_shares();
        let with = |cycles: &SimulatedCycles| {
            let mut all = modelled.clone();
            all.extend(
                self.prediction
                    .iter()
                    .flat_map(|it| it.estimates(&self.experiments, &self.figures, cycles)),
            );
            all.extend(shares.clone());
            let bases = self.prediction.iter().flat_map(Prediction::bases);
            add_following(&self.figures, bases, &mut all);
            all
        };
        let varied = with(&cycles.varied());
        let value = |(id, estimate): (String, Estimate)| {
            let is_simulated = varied.get(&id).is_some_and(|other| !is_equal(&estimate, other));
            let figure = self.figure(&id)?;
            let is_modelled = |id: &String| modelled.contains_key(id) || shares.contains_key(id);
            let is_modelled = is_modelled(&id) || figure.members().into_iter().any(is_modelled);
            let role = self.role(figure, is_simulated, is_modelled);
            Some((id, PredictedValue { estimate, role }))
        };
        with(cycles).into_iter().filter_map(value).collect()
    }

    /// The modelled shares of jobs, by figure.
    fn modelled_shares(&self) -> BTreeMap<String, Estimate> {
        let mut all = BTreeMap::new();
        for (index, experiment) in self.experiments.iter().enumerate() {
            let modelled = experiment.shares.as_ref().map(Shares::modelled).unwrap_or_default();
            let figures = self.figures.iter().filter(|figure| figure.experiment == Some(index));
            all.extend(
                figures
                    .filter_map(|figure| Some((figure.id.clone(), *modelled.get(figure.rank?)?))),
            );
        }
        all
    }

    /// Relation of a predicted figure to the figures that predict it.
    fn role(&self, figure: &Figure, is_simulated: bool, is_modelled: bool) -> ModelRole {
        let of_model = || self.model.as_ref().map_or(ModelRole::HeldOut, |it| it.role(figure));
        let tuned = self.prediction.as_ref().map_or(&[][..], |it| &it.tuned);
        let is_tuned = |id: &String| tuned.contains(id);
        match (is_simulated, is_modelled) {
            (false, false) => ModelRole::Arithmetic,
            (false, true) => of_model(),
            (true, _) if is_tuned(&figure.id) || figure.members().into_iter().any(is_tuned) => {
                ModelRole::Fitted
            }
            (true, _) => of_model(),
        }
    }

    /// Why a figure has no prediction, where the study says.
    pub fn not_predicted(&self, figure: &Figure) -> Option<String> {
        self.prediction.as_ref().and_then(|it| it.reason(figure)).cloned()
    }
}

impl Study {
    /// The findings with what each comes to.
    pub fn recorded_findings(&self) -> Vec<StudyFinding> {
        let reported = |finding: &Finding| StudyFinding {
            id: finding.id.clone(),
            kind: finding.kind,
            claim: finding.claim.clone(),
            computed: finding.computation.iter().map(|it| it.line(&self.figures)).collect(),
            correction: finding.correction.clone(),
        };
        self.findings.iter().map(reported).collect()
    }
}

impl Citation {
    /// The citation on one line.
    pub fn line(&self) -> String {
        let link = self.link.as_ref().map_or(String::new(), |link| format!(", {link}"));
        format!("{}: {}. {}, {}{link}", self.authors.join(", "), self.title, self.place, self.year)
    }
}

impl PublishedMachine {
    /// The machine on one line.
    pub fn line(&self) -> String {
        let kernel = self.kernel.as_ref().map_or(String::new(), |kernel| format!(", {kernel}"));
        let count = |number: u32, one: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {one}s"),
        };
        format!(
            "{}, {}, {}, SMT width {}{kernel}",
            self.cpu,
            count(self.cores, "core"),
            count(self.logical_cpus, "logical CPU"),
            self.smt_width
        )
    }
}
