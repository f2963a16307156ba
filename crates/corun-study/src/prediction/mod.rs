//! The predicted counterpart of published figures: programs simulated on the core that the publication used.
//!
//! A study names the core model, the programs, and for each figure where their workers run. Figures that
//! the core model was tuned on are named; a time may be given in the seconds of another figure, the same program alone.

mod cycles;
mod file;
mod simulator;

use std::collections::BTreeMap;
use std::fmt;

use corun_record::{Estimate, Placement};

pub use cycles::{Cycles, SimulatedCycles};
pub(crate) use file::FilePrediction;
pub use simulator::Simulator;

use crate::experiment::Experiment;
use crate::figure::{By, Figure, figure_of, range_of};
use crate::quantity::Quantity;

/// Prediction of a study's figures by simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The core model.
    pub core: String,
    /// The clock at which cycles become seconds.
    gigahertz: f64,
    figures: Vec<PredictedFigure>,
    /// Figures that the core model was tuned on, by id.
    pub(crate) tuned: Vec<String>,
    /// Why figures are not predicted, by id.
    reasons: BTreeMap<String, String>,
}

/// A program to simulate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimulatedProgram {
    /// Work of the program.
    pub work: Work,
    /// Number of its threads that are workers.
    pub threads: u32,
}

/// Work of a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// A built-in workload.
    Workload {
        /// Name of the workload.
        name: String,
        /// Parameters, each as `name=value`.
        parameters: Vec<String>,
    },
    /// A command; `{operations}` in it is the number of operations.
    Command(Vec<String>),
}

/// Placement of the workers: copies of a program with one worker, else the workers of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerLayout {
    /// The placement.
    pub placement: Placement,
    /// The cores that are simulated.
    pub cores: u32,
}

/// Engine that gives the cycles of an operation on a core.
pub trait CoreEngine {
    /// The cycles of an operation on each of these layouts of a core model.
    ///
    /// # Errors
    /// Why they cannot be had, as a sentence.
    fn cycles(
        &self,
        core: &str,
        program: &SimulatedProgram,
        layouts: &[WorkerLayout],
    ) -> Result<Vec<Cycles>, String>;
}

/// Predicted figure.
#[derive(Debug, Clone, PartialEq)]
struct PredictedFigure {
    figure: String,
    program: SimulatedProgram,
    layout: WorkerLayout,
    turns: u32,
    like: Option<Like>,
}

/// The published figure in whose seconds another is given.
#[derive(Debug, Clone, PartialEq)]
struct Like {
    figure: String,
    program: SimulatedProgram,
    layout: WorkerLayout,
    /// The work of a worker, as a multiple of that of the other figure.
    work: f64,
}

/// Ends of a predicted range: the least and the most of all phases.
const LEVEL: f64 = 1.0;

impl Prediction {
    /// The programs that are simulated, each with its layouts.
    pub fn needed(&self) -> Vec<(SimulatedProgram, Vec<WorkerLayout>)> {
        let mut needed: BTreeMap<&SimulatedProgram, Vec<WorkerLayout>> = BTreeMap::new();
        let own = self.figures.iter().map(|it| (&it.program, it.layout));
        let others = self.figures.iter().filter_map(|it| it.like.as_ref());
        let all = own.chain(others.map(|it| (&it.program, it.layout)));
        for (program, layout) in all {
            let known = needed.entry(program).or_default();
            if !known.contains(&layout) {
                known.push(layout);
            }
        }
        needed.into_iter().map(|(program, layouts)| (program.clone(), layouts)).collect()
    }

    /// Why a figure is not predicted, where the study says.
    pub fn reason(&self, figure: &Figure) -> Option<&String> {
        self.reasons.get(&figure.id)
    }

    /// The predicted figures by id, in the units of their quantities.
    pub(crate) fn estimates(
        &self,
        experiments: &[Experiment],
        figures: &[Figure],
        cycles: &SimulatedCycles,
    ) -> BTreeMap<String, Estimate> {
        let estimate = |predicted: &PredictedFigure| {
            let figure = figure_of(figures, &predicted.figure)?;
            let experiment = figure.experiment.and_then(|index| experiments.get(index));
            let estimate = self.estimate(predicted, (figure, experiment), figures, cycles)?;
            Some((figure.id.clone(), estimate))
        };
        self.figures.iter().filter_map(estimate).collect()
    }

    fn estimate(
        &self,
        predicted: &PredictedFigure,
        (figure, experiment): (&Figure, Option<&Experiment>),
        figures: &[Figure],
        cycles: &SimulatedCycles,
    ) -> Option<Estimate> {
        let of = |program, layout| cycles.of(&self.core, program, layout);
        let own = of(&predicted.program, predicted.layout)?;
        let taken = own.estimate().scaled(f64::from(predicted.turns));
        let second = self.gigahertz * 1e9;
        let rerun = || experiment?.rerun.as_ref().ok();
        match (&figure.quantity, &predicted.like) {
            (Quantity::Time(_, unit), Some(like)) => {
                let alone = of(&like.program, like.layout)?;
                let published = range_of(figures, &like.figure, By::Mean).value;
                Some(taken.scaled(like.work * published / alone.mean / unit))
            }
            (Quantity::Time(_, unit), None) => {
                Some(taken.scaled(rerun()?.work_per_worker? / second / unit))
            }
            (Quantity::Rate(_), _) => Some(taken.under(second * rerun()?.credit())),
            _ => None,
        }
    }
}

impl Prediction {
    /// The figures in whose seconds others are given.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &String> {
        self.figures.iter().filter_map(|it| it.like.as_ref()).map(|like| &like.figure)
    }
}

impl Cycles {
    fn estimate(self) -> Estimate {
        let Self { mean, low, high } = self;
        Estimate { value: mean, low, high, level: LEVEL, blocks: 1 }
    }
}

impl fmt::Display for SimulatedProgram {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.work {
            Work::Workload { name, parameters } => {
                write!(out, "{name}")?;
                parameters.iter().try_for_each(|parameter| write!(out, " {parameter}"))?;
            }
            Work::Command(words) => write!(out, "{}", words.join(" "))?,
        }
        match self.threads {
            1 => Ok(()),
            threads => write!(out, ", {threads} threads"),
        }
    }
}
