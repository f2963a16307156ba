//! A study: what a publication measured, on what, how to measure it again, and which of its
//! conclusions its figures do not support.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Estimate, FindingKind, Metric, ModelRole, Published, StudyFinding};
use serde::Deserialize;

use crate::arm::StudyArm;
use crate::computation::{By, Computation, RatioOf};
use crate::confinement::Fraction;
use crate::following::add_following;
use crate::modelled::Model;
use crate::prediction::{Prediction, SimulatedCycles};
use crate::quantity::Quantity;
use crate::range::Range;
use crate::shares::Shares;

/// A published experiment as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name that users type.
    pub name: String,
    /// What it is about, one line.
    pub title: String,
    /// How long a rerun may take, unless the user says otherwise.
    pub max_time: Duration,
    /// Where it was published.
    pub citation: Citation,
    /// What it was measured on.
    pub machine: PublishedMachine,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// How to measure it again.
    pub experiments: Vec<Experiment>,
    /// What was published.
    pub figures: Vec<Figure>,
    /// What was concluded and does not follow, or has another name.
    pub findings: Vec<Finding>,
    /// How its figures are modelled, if they are.
    pub model: Option<Model>,
    /// How its figures are predicted by simulation, if they are.
    pub prediction: Option<Prediction>,
}

/// Where figures were published.
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
    /// Where to read it: an address, or a message's id.
    pub link: Option<String>,
}

/// What figures were measured on.
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
    /// What else is known of it.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One arrangement of the publication, and how to measure it again.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name in the study.
    pub id: String,
    /// What was run, one line.
    pub summary: String,
    /// How to run it again, or why corun does not.
    pub rerun: Result<Rerun, String>,
    /// The jobs whose shares of CPUs are its figures, if it is of that kind.
    pub shares: Option<Shares>,
}

/// How to measure an experiment again.
#[derive(Debug, Clone, PartialEq)]
pub struct Rerun {
    /// A built-in workload.
    pub workload: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// The arms.
    pub arms: Vec<StudyArm>,
    /// What it asks of SMT.
    pub smt: SmtNeed,
    /// C, where it is not all cores.
    pub cores: Option<u32>,
    /// The part of the machine that everything is kept on.
    pub confine: Option<Fraction>,
    /// What each worker did in the published time, in the workload's operations.
    pub work_per_worker: Option<f64>,
    /// How long a run must take to be like the published one: many workers begin one after another.
    pub least_run: Duration,
    /// What the workload stands for, where it is not the published one.
    pub stand_in: Option<String>,
}

/// What an experiment asks of SMT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SmtNeed {
    /// Nothing: it is run in the state that is found.
    #[default]
    AsFound,
    /// Siblings online.
    On,
    /// No siblings online.
    Off,
    /// Both in turn; an arm that ends in `/smt-off` is the one without siblings.
    Switched,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name, unique in the study.
    pub id: String,
    /// The experiment that measures it again, as an index.
    pub experiment: Option<usize>,
    /// What it says.
    pub metric: Metric,
    /// Of shares: which of the jobs, from 0 for the one with the largest.
    pub rank: Option<usize>,
    /// The arm it is said of.
    pub arm: Option<StudyArm>,
    /// The arm it is compared with.
    pub against: Option<StudyArm>,
    /// What it is counted in.
    pub quantity: Quantity,
    /// What was published.
    pub value: Value,
    /// Digits after the decimal point of the published value, in the unit of `quantity`.
    pub decimals: u32,
    /// The figures whose measured values make this one's as a ratio, where others than those that the
    /// published ratio follows from.
    pub measured_as: Option<RatioOf>,
    /// The figures whose measured values make this one's by their geometric mean.
    pub geometric_mean_of: Vec<String>,
    /// CPU time in user mode, in seconds, of each process or of all together.
    pub user_s: Vec<f64>,
    /// CPU time in the kernel, likewise.
    pub system_s: Vec<f64>,
    /// What a reader should know.
    pub notes: Option<String>,
}

/// What was published of a figure, in the unit of its [`Quantity`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, and the range that its digits leave.
    Number(Range),
    /// The time of each worker, in seconds; the largest is the makespan.
    Workers(Vec<Range>),
    /// A ratio that follows from two other figures.
    Computed(RatioOf),
    /// Nothing: it is only measured.
    Unpublished,
}

/// A conclusion that the publication's own figures do not support, or not by that name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Its name, unique in the study.
    pub id: String,
    /// What is wrong with it.
    #[serde(default)]
    pub kind: FindingKind,
    /// What is claimed, in corun's own words.
    pub claim: String,
    /// What the figures say.
    pub computation: Vec<Computation>,
    /// What the claim correction is.
    pub correction: String,
}

impl Study {
    /// The figure of this id.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// What was published of a figure, or follows from what was; `None` where nothing was.
    pub fn published(&self, figure: &Figure) -> Option<Published> {
        let Range { value, low, high } = self.range(figure, By::Makespan)?;
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

impl Rerun {
    /// What the publication counts for one operation of the workload.
    pub(crate) fn credit(&self) -> f64 {
        let row = corun_workload::find(&self.workload).ok().and_then(|it| it.descriptor().row);
        row.map_or(1.0, |row| match row.figure {
            corun_workload::Figure::Rate { per, .. } => row.credit / per,
            corun_workload::Figure::Microseconds => 1.0,
        })
    }
}

impl Study {
    /// The predicted figures by id: of the simulated core, of the model of the scheduler, and those that follow.
    pub fn predicted(&self, cycles: &SimulatedCycles) -> BTreeMap<String, Estimate> {
        let mut all = self.model.as_ref().map(|it| it.estimates(self)).unwrap_or_default();
        all.extend(self.prediction.iter().flat_map(|it| it.estimates(self, cycles)));
        all.extend(self.modelled_shares());
        let bases = self.prediction.iter().flat_map(Prediction::bases);
        add_following(self, bases, &mut all);
        all
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

    /// What a predicted figure is to what predicts it: nothing is fitted to what is simulated.
    pub fn role(&self, figure: &Figure) -> ModelRole {
        self.model.as_ref().map_or(ModelRole::HeldOut, |model| model.role(figure))
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
            computed: finding.computation.iter().map(|it| it.line(self)).collect(),
            correction: finding.correction.clone(),
        };
        self.findings.iter().map(reported).collect()
    }
}

impl Study {
    /// What was published of the figure of this id, which others refer to; where it has a time for
    /// each worker, `by` says which stands for all.
    pub(crate) fn range_of(&self, id: &str, by: By) -> Range {
        let range = self.figure(id).and_then(|figure| self.range(figure, by));
        range.expect("references were checked on loading")
    }

    fn range(&self, figure: &Figure, by: By) -> Option<Range> {
        match &figure.value {
            Value::Number(range) => Some(*range),
            Value::Workers(seconds) => Some(by.of(seconds)),
            Value::Computed(ratio) => Some(ratio.range(self)),
            Value::Unpublished => None,
        }
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
