//! The experiments of a study: what was run, and how to run it again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::arm::StudyArm;
use crate::confinement::Fraction;
use crate::shares::Shares;

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
