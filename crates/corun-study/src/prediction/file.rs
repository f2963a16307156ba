//! `[prediction]` of a study file.

use std::collections::BTreeMap;

use corun_record::{Placement, nearest_listed};
use corun_workload::Parameters;
use serde::Deserialize;

use super::{Like, PredictedFigure, Prediction, SimulatedProgram, Work, WorkerLayout};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::modelled::{ROW, row};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilePrediction {
    core: String,
    gigahertz: Option<f64>,
    program: Vec<FileProgram>,
    figure: Vec<FileFigure>,
    /// Figures that the core model was tuned on.
    #[serde(default)]
    tuned: Vec<String>,
    #[serde(default)]
    not_predicted: Vec<NotPredicted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileProgram {
    id: String,
    /// The words that stand for `{row}`, a program each.
    #[serde(default)]
    rows: Vec<String>,
    workload: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default = "one")]
    threads: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFigure {
    figure: String,
    program: String,
    placement: Placement,
    #[serde(default = "one")]
    cores: u32,
    /// Workers that take turns on each logical CPU.
    #[serde(default = "one")]
    turns: u32,
    like: Option<FileLike>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLike {
    figure: String,
    program: Option<String>,
    placement: Placement,
    #[serde(default = "one")]
    cores: u32,
    #[serde(default = "whole")]
    work: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NotPredicted {
    /// Ids of figures or experiments.
    rows: Vec<String>,
    reason: String,
}

fn one() -> u32 {
    1
}

fn whole() -> f64 {
    1.0
}

/// More threads or cores than any published machine of a study.
const MOST: u32 = 64;

impl FilePrediction {
    /// # Errors
    /// The field, what was expected and found.
    pub(crate) fn read(
        self,
        figures: &[Figure],
        experiments: &[Experiment],
    ) -> Result<Prediction, String> {
        let core = corun_model::find(&self.core).map_err(|error| format!("`core`: {error}"))?;
        let gigahertz = self.gigahertz.unwrap_or(core.gigahertz);
        if !(gigahertz.is_finite() && gigahertz > 0.0) {
            return Err(format!("`gigahertz`: expected a positive number, found {gigahertz}"));
        }
        let mut programs: BTreeMap<String, SimulatedProgram> = BTreeMap::new();
        for program in &self.program {
            let rows = if program.rows.is_empty() { &[String::new()][..] } else { &program.rows };
            for row in rows {
                programs.insert(program.id.replace(ROW, row), program.read(row)?);
            }
        }
        let mut predicted = Vec::new();
        for file in &self.figure {
            let before = predicted.len();
            for figure in figures {
                let Some(row) = row(&file.figure, &figure.id) else { continue };
                // Of a table the rows that have a program; others are named below.
                match programs.get(&file.program.replace(ROW, row)) {
                    Some(program) => {
                        predicted.push(file.read(figure, program, &programs, figures)?);
                    }
                    None if row.is_empty() => {
                        let known = programs.keys().map(String::as_str);
                        return Err(unknown("program", &file.program, known));
                    }
                    None => {}
                }
            }
            if predicted.len() == before {
                let known = figures.iter().map(|it| it.id.as_str());
                return Err(unknown("figure", &file.figure, known));
            }
        }
        let mut reasons = BTreeMap::new();
        for NotPredicted { rows, reason } in self.not_predicted {
            for row in rows {
                let experiment = experiments.iter().position(|it| it.id == row);
                let is_of = |it: &&Figure| {
                    it.id == row || (experiment.is_some() && it.experiment == experiment)
                };
                let before = reasons.len();
                let ids = figures.iter().filter(is_of).map(|it| it.id.clone());
                reasons.extend(ids.map(|id| (id, reason.clone())));
                if reasons.len() == before {
                    let known = figures.iter().map(|it| it.id.as_str());
                    return Err(unknown("not_predicted", &row, known));
                }
            }
        }
        if let Some(found) = self.tuned.iter().find(|id| !figures.iter().any(|it| it.id == **id)) {
            return Err(unknown("tuned", found, figures.iter().map(|it| it.id.as_str())));
        }
        Ok(Prediction {
            core: self.core,
            gigahertz,
            figures: predicted,
            tuned: self.tuned,
            reasons,
        })
    }
}

impl FileProgram {
    fn read(&self, row: &str) -> Result<SimulatedProgram, String> {
        let filled = |text: &String| text.replace(ROW, row);
        if !(1..=MOST).contains(&self.threads) {
            return Err(format!("`threads`: expected 1 to {MOST}, found {}", self.threads));
        }
        let work = match (&self.workload, &self.command[..]) {
            (Some(name), []) => {
                let name = filled(name);
                let pairs = self.parameters.iter();
                let parameters: Vec<String> =
                    pairs.map(|(name, value)| format!("{name}={}", filled(value))).collect();
                let workload = corun_workload::find(&name).map_err(|error| error.to_string())?;
                Parameters::parse(workload.descriptor(), parameters.clone())
                    .map_err(|error| format!("program \"{}\": {error}", self.id))?;
                Work::Workload { name, parameters }
            }
            (None, words @ [_, ..]) => Work::Command(words.iter().map(filled).collect()),
            _ => {
                return Err(format!(
                    "program \"{}\": expected either `workload` or `command`, found both or none",
                    self.id
                ));
            }
        };
        Ok(SimulatedProgram { work, threads: self.threads })
    }
}

impl FileFigure {
    fn read(
        &self,
        figure: &Figure,
        program: &SimulatedProgram,
        programs: &BTreeMap<String, SimulatedProgram>,
        figures: &[Figure],
    ) -> Result<PredictedFigure, String> {
        for (field, number) in [("cores", self.cores), ("turns", self.turns)] {
            if !(1..=MOST).contains(&number) {
                return Err(format!("`{field}`: expected 1 to {MOST}, found {number}"));
            }
        }
        let named = |field: &str, name: &String| {
            let known = || programs.keys().map(String::as_str);
            programs.get(name).cloned().ok_or_else(|| unknown(field, name, known()))
        };
        let like = self.like.as_ref().map(|like| {
            if !figures.iter().any(|it| it.id == like.figure && it.id != figure.id) {
                let known = figures.iter().map(|it| it.id.as_str());
                return Err(unknown("like.figure", &like.figure, known));
            }
            let program = match &like.program {
                None => program.clone(),
                Some(name) => named("like.program", name)?,
            };
            Ok(Like {
                figure: like.figure.clone(),
                program,
                layout: WorkerLayout { placement: like.placement, cores: like.cores },
                work: like.work,
            })
        });
        Ok(PredictedFigure {
            figure: figure.id.clone(),
            program: program.clone(),
            layout: WorkerLayout { placement: self.placement, cores: self.cores },
            turns: self.turns,
            like: like.transpose()?,
        })
    }
}

fn unknown<'a>(field: &str, found: &str, known: impl Iterator<Item = &'a str>) -> String {
    format!("`{field}`: expected one of {}, found \"{found}\"", nearest_listed(found, known))
}
