//! Subjects of a comparison: a workload that was run or simulated, with its observations, read from a document.
//!
//! Documents of several runs (benches, studies) hold several subjects.

use std::collections::BTreeMap;

use corun_record::{
    Actionable, AnyDocument, Arm, Caveat, Estimate, Exit, Observation, Placement, Prediction,
    ReadError, Record, Run, Sample, StudyFigure, StudyResult, ThreadSweep, Workload, excerpt,
};

use crate::facts::Facts;

/// A document by its name, and the arm that was asked for if one was.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The name by which it was given.
    pub name: String,
    /// The arm to compare; all where none is named.
    pub arm: Option<String>,
    /// Runs of the document.
    pub subjects: Vec<Subject>,
}

/// A workload of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Label of the work, on one line.
    pub(crate) label: String,
    /// The model of the core that it was simulated on.
    pub(crate) core_model: Option<String>,
    /// Predicted cycles with the interval of the choice of windows alone.
    pub(crate) simulated_cycles: Option<Estimate>,
    /// The experiment of a study that it is.
    pub(crate) experiment: Option<String>,
    /// The name of a built-in workload, or the command's file name.
    pub(crate) name: String,
    /// Start, UTC, RFC 3339.
    pub(crate) started: String,
    /// The seed of its random orders.
    pub(crate) seed: u64,
    /// Facts of its making.
    pub(crate) facts: Facts,
    /// Operations of a worker in a run, where a time depends on them.
    pub(crate) operations: Option<f64>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) observations: Vec<Observation>,
    pub(crate) samples: Vec<Sample>,
    /// Limits of trust in all of it.
    pub(crate) caveats: Vec<Caveat>,
}

/// Why a text has nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// Not a document that can be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A document of another kind.
    #[error(
        "expected a document with observations (of corun measure, threads, bench, study run or \
         predict), found format \"{0}\""
    )]
    Format(String),
    /// Nothing was measured to its end.
    #[error("expected observations, found a document without any")]
    Empty,
}

impl Actionable for SubjectError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        match self {
            Self::Read(error) => error.next_step(),
            Self::Format(_) => {
                "Name what corun measure, threads, bench, study run or predict wrote with --json."
                    .to_owned()
            }
            Self::Empty => "Repeat the run with more time, so that it has two blocks.".to_owned(),
        }
    }
}

/// The subjects of a document.
///
/// # Errors
/// If the text is no document of a kind that has observations, or has none.
pub fn subjects(text: &str) -> Result<Vec<Subject>, SubjectError> {
    let found = match AnyDocument::from_json(text)? {
        AnyDocument::Run(run) => vec![Subject::from(*run)],
        AnyDocument::Bench(bench) => bench.runs.into_iter().map(Subject::from).collect(),
        AnyDocument::Study(study) => of_study(*study),
        AnyDocument::Threads(sweep) => vec![Subject::from(*sweep)],
        AnyDocument::Prediction(prediction) => vec![Subject::from(*prediction)],
        AnyDocument::Predictions(table) => {
            table.predictions.into_iter().map(Subject::from).collect()
        }
        AnyDocument::Sweep(sweep) => {
            let predictions = sweep.body.cells.into_iter().filter_map(|it| it.prediction);
            predictions.map(Subject::from).collect()
        }
        other @ (AnyDocument::Audit(_)
        | AnyDocument::Capacity(_)
        | AnyDocument::Simulation(_)
        | AnyDocument::Placements(_)
        | AnyDocument::Blocks(_)
        | AnyDocument::Schedule(_)
        | AnyDocument::Comparison(_)
        | AnyDocument::Trend(_)
        | AnyDocument::FleetReport(_)
        | AnyDocument::Other { .. }) => {
            return Err(SubjectError::Format(excerpt(other.format())));
        }
    };
    match found.iter().all(|subject| subject.observations.is_empty()) {
        true => Err(SubjectError::Empty),
        false => Ok(found),
    }
}

/// The runs of a study by the experiments that its figures say they are of.
fn of_study(study: StudyResult) -> Vec<Subject> {
    let figures = study.figures;
    let experiment = |index: u32| {
        let is_of_run = |figure: &&StudyFigure| figure.run == Some(index);
        figures.iter().filter(is_of_run).find_map(|figure| figure.experiment.clone())
    };
    (0..)
        .zip(study.runs)
        .map(|(index, run)| Subject { experiment: experiment(index), ..Subject::from(run) })
        .collect()
}

/// Observations in the units that people read.
fn in_its_units(workload: &Workload, mut observations: Vec<Observation>) -> Vec<Observation> {
    for seen in &mut observations {
        seen.unit = workload.unit_of(seen);
    }
    observations
}

impl From<Run> for Subject {
    fn from(run: Run) -> Self {
        let observations = in_its_units(&run.workload, run.observations);
        let mut facts = Facts::of_host(&run.machine);
        facts.of_workload(&run.workload);
        facts.of_machine(&run.machine);
        facts.add("corun", Some(run.corun_version));
        let listed = |arm: &&Arm| arm.placement == Placement::Cpus && arm.twin_of.is_none();
        for arm in run.arms.iter().filter(listed) {
            let cpus: Vec<String> = arm.cpus.iter().map(u32::to_string).collect();
            facts.add(&format!("CPUs of {}", arm.id), Some(cpus.join(",")));
        }
        Self {
            label: run.workload.label(),
            core_model: None,
            simulated_cycles: None,
            experiment: None,
            name: run.workload.name,
            started: run.started,
            seed: run.design.seed,
            facts,
            operations: Some(run.workload.operations),
            arms: run.arms,
            observations,
            samples: run.samples,
            caveats: run.caveats,
        }
    }
}

impl From<Record<ThreadSweep>> for Subject {
    fn from(record: Record<ThreadSweep>) -> Self {
        let sweep = record.body;
        let observations = in_its_units(&sweep.workload, sweep.observations);
        let machine = record.machine.unwrap_or_default();
        let mut facts = Facts::of_host(&machine);
        facts.of_workload(&sweep.workload);
        facts.of_machine(&machine);
        facts.add("corun", Some(record.corun_version));
        Self {
            label: sweep.workload.label(),
            core_model: None,
            simulated_cycles: None,
            experiment: None,
            name: sweep.workload.name,
            started: record.started,
            seed: sweep.design.seed,
            facts,
            operations: Some(sweep.workload.operations),
            arms: sweep.candidates.into_iter().map(|candidate| candidate.arm).collect(),
            observations,
            samples: sweep.samples,
            caveats: record.caveats,
        }
    }
}

impl From<Prediction> for Subject {
    fn from(prediction: Prediction) -> Self {
        let mut facts = Facts::of_host(&prediction.machine);
        let label = shell_words::join(&prediction.command);
        facts.add("command", Some(label.clone()));
        facts.add("core model", Some(prediction.core.model.clone()));
        for field in &prediction.core.memory {
            let (name, value) = field.setting();
            facts.add(&name, Some(value));
        }
        facts.of_machine(&prediction.machine);
        facts.add("corun", Some(prediction.corun_version));
        Self {
            name: prediction.command.first().cloned().unwrap_or_default(),
            label,
            core_model: Some(prediction.core.model),
            simulated_cycles: prediction.simulated_cycles,
            experiment: None,
            started: prediction.started,
            seed: 0,
            facts,
            operations: None,
            arms: Vec::new(),
            observations: prediction.observations,
            samples: Vec::new(),
            caveats: prediction.caveats,
        }
    }
}

impl Subject {
    /// True if both are the same run, perhaps of two copies of its document.
    pub(crate) fn is_same_run(&self, other: &Self) -> bool {
        (&self.started, self.seed, &self.label, self.samples.len())
            == (&other.started, other.seed, &other.label, other.samples.len())
            && self.observations == other.observations
    }

    /// Why its figures are not of the work that was asked for, if they are not.
    pub(crate) fn spoiled(&self) -> Option<&str> {
        self.caveats.iter().find(|it| it.spoils()).map(|it| it.sentence.as_str())
    }

    /// True if both are of the same thing: workload, core model and experiment.
    pub(crate) fn is_of_the_same(&self, other: &Self) -> bool {
        (&self.label, &self.core_model, &self.experiment)
            == (&other.label, &other.core_model, &other.experiment)
    }

    /// The workload, and which one it is where a document holds it several times.
    pub(crate) fn title(&self) -> String {
        match self.core_model.as_ref().or(self.experiment.as_ref()) {
            Some(which) => format!("{} ({which})", self.label),
            None => self.label.clone(),
        }
    }

    /// The workers of each arm, which decide what its figures are of.
    pub(crate) fn layout(&self) -> BTreeMap<&str, (u32, u32)> {
        self.arms.iter().map(|arm| (arm.id.as_str(), (arm.workers, arm.cores))).collect()
    }

    /// Label of the work, on one line.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The name of a built-in workload, or the command's file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if this names it: the name of its workload, or the first words of its label, as in the list of kept runs.
    pub fn is_called(&self, name: &str) -> bool {
        let rest = self.label.strip_prefix(name);
        self.name == name || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    /// The arms that it has observations of.
    pub fn arms(&self) -> impl Iterator<Item = &str> {
        let mut arms: Vec<&str> = self.observations.iter().map(|seen| seen.arm.as_str()).collect();
        arms.dedup();
        arms.into_iter()
    }

    /// True if it has an arm of this name.
    pub fn has_arm(&self, id: &str) -> bool {
        self.observations.iter().any(|seen| seen.arm == id)
    }
}
