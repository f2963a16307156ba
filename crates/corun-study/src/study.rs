//! A study: what a publication measured, on what, how to measure it again, and which of its
//! conclusions its figures do not support.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Metric, Published};
use serde::Deserialize;

use crate::arm::StudyArm;
use crate::computation::{By, Computation, RatioOf};
use crate::confinement::Fraction;
use crate::quantity::Quantity;

/// A published experiment as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name that users type.
    pub name: String,
    /// What it is about, one line.
    pub title: String,
    /// How long a rerun may take, unless the user says otherwise.
    pub budget: Duration,
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
    /// What was concluded and does not follow.
    pub findings: Vec<Finding>,
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
    /// The kernel, if it was told.
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
    /// The arm it is said of.
    pub arm: Option<StudyArm>,
    /// The arm it is compared with.
    pub against: Option<StudyArm>,
    /// What it is counted in.
    pub quantity: Quantity,
    /// What was published.
    pub value: Value,
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
    Number {
        /// As published.
        value: f64,
        /// The smallest that would be published so.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// The time of each worker, in seconds; the largest is the makespan.
    Workers(Vec<f64>),
    /// A ratio that follows from two other figures.
    Computed(RatioOf),
    /// Nothing: it is only measured.
    Unpublished,
}

/// A conclusion that the publication's own figures do not support.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Its name, unique in the study.
    pub id: String,
    /// What is claimed, in corun's own words.
    pub claim: String,
    /// What the figures say.
    pub computation: Vec<Computation>,
    /// What the claim really is.
    pub really: String,
}

impl Study {
    /// The figure of this id.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// What was published of a figure, or follows from what was; `None` where nothing was.
    pub fn published(&self, figure: &Figure) -> Option<Published> {
        match &figure.value {
            Value::Unpublished => None,
            Value::Computed(ratio) => Some(Published { computed: true, ..ratio.published(self) }),
            typed => Some(typed.published(By::Makespan)),
        }
    }
}

impl Study {
    /// What was published of the figure of this id, which others refer to.
    pub(crate) fn published_of(&self, id: &str) -> Published {
        let published = self.figure(id).and_then(|figure| self.published(figure));
        published.expect("references were checked on loading")
    }
}

impl Value {
    /// A typed value, where it has one for each worker by the largest or by the mean.
    pub(crate) fn published(&self, by: By) -> Published {
        let [value, low, high] = match self {
            Self::Number { value, low, high } => [*value, *low, *high],
            Self::Workers(seconds) => [by.of(seconds); 3],
            Self::Computed(_) | Self::Unpublished => [f64::NAN; 3],
        };
        Published { value, low, high, computed: false }
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
