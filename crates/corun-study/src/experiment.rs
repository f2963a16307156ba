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
    /// Name in the study.
    pub id: String,
    /// The published work, in one line.
    pub summary: String,
    /// Rerun, or why corun does not.
    pub rerun: Result<Rerun, String>,
    /// The jobs whose shares of CPUs are its figures, if it is of that kind.
    pub shares: Option<Shares>,
}

/// Rerun of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Rerun {
    /// A built-in workload.
    pub workload: String,
    /// Parameters of the workload.
    pub parameters: BTreeMap<String, String>,
    /// The arms.
    pub arms: Vec<StudyArm>,
    /// Need of SMT.
    pub smt: SmtNeed,
    /// C, where it is not all cores.
    pub cores: Option<u32>,
    /// The part of the machine that everything is kept on.
    pub confine: Option<Fraction>,
    /// Work of each worker in the published time, in the workload's operations.
    pub work_per_worker: Option<f64>,
    /// Least duration of a run to be like the published one: many workers begin one after another.
    pub least_run: Duration,
    /// Published workload that it replaces, where it is another.
    pub stand_in: Option<String>,
}

/// Need of SMT by an experiment.
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
    /// Count of the publication for one operation of the workload.
    pub(crate) fn credit(&self) -> f64 {
        let row = corun_workload::find(&self.workload).ok().and_then(|it| it.descriptor().row);
        row.map_or(1.0, |row| match row.figure {
            corun_workload::Figure::Rate { per, .. } => row.credit / per,
            corun_workload::Figure::Microseconds => 1.0,
        })
    }
}
