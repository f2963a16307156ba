//! The cells of a sweep: every program on every model with every combination of settings.

use std::ffi::OsString;

use corun_record::{PredictionSweep, SweepCell};

use super::Arguments;
use crate::command::predict::CoreVariant;
use crate::parse::line_of;
use crate::problem::Problem;
use crate::values::Words;

/// The most cells of a sweep.
const MOST_CELLS: usize = 100_000;

/// A sweep, resolved.
pub(super) struct Plan {
    options: Vec<String>,
    pub(super) programs: Vec<SweptProgram>,
    pub(super) variants: Vec<CoreVariant>,
}

/// A program of a sweep.
#[derive(Debug, Clone)]
pub(super) struct SweptProgram {
    /// Its name in tables.
    pub(super) name: String,
    /// What `corun predict` is given for it, after the options.
    pub(super) words: Vec<OsString>,
    /// What `corun sweep` is given for it.
    pub(super) option: [String; 2],
}

impl Plan {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// If there is no program or no value, or too many cells.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Problem> {
        let programs = programs(arguments)?;
        let variants = variants(arguments)?;
        let count = programs.len().saturating_mul(variants.len());
        if count > MOST_CELLS {
            return Err(Problem::usage(
                format!("expected at most {MOST_CELLS} cells, found {count}"),
                "Name fewer programs, models or values.",
            ));
        }
        Ok(Self { options: options(arguments), programs, variants })
    }

    /// The options that all cells share.
    pub(super) fn options(&self) -> &[String] {
        &self.options
    }

    /// The line of `corun predict` for a program.
    pub(super) fn line(&self, program: &SweptProgram) -> Vec<OsString> {
        let first = ["predict", "--no-measure", "--quiet"].map(OsString::from);
        let options = self.options.iter().map(OsString::from);
        first.into_iter().chain(options).chain(program.words.iter().cloned()).collect()
    }

    /// The sweep without predictions, but for those of an earlier one.
    pub(super) fn with(&self, earlier: Option<PredictionSweep>) -> PredictionSweep {
        let mut earlier = earlier.map(|it| it.cells).unwrap_or_default();
        let mut cells = Vec::with_capacity(self.programs.len() * self.variants.len());
        for program in &self.programs {
            for variant in &self.variants {
                let settings =
                    variant.settings.iter().map(|(field, value)| format!("{field}={value}"));
                let cell = SweepCell {
                    program: program.name.clone(),
                    model: variant.model.clone(),
                    settings: settings.collect(),
                    prediction: None,
                    failure: None,
                };
                let known = earlier.iter_mut().find(|it| it.is_same(&cell));
                let prediction = known.and_then(|it| it.prediction.take());
                cells.push(SweepCell { prediction, ..cell });
            }
        }
        PredictionSweep { options: self.options.clone(), cells }
    }
}

fn programs(arguments: &Arguments) -> Result<Vec<SweptProgram>, Problem> {
    let command = |words: &[OsString]| SweptProgram {
        name: line_of(words),
        words: std::iter::once("--".into()).chain(words.iter().cloned()).collect(),
        option: ["--program".to_owned(), quoted(words)],
    };
    let workload = |Words(words): &Words| {
        let (name, parameters) = words.split_first()?;
        let parameters = parameters.iter().flat_map(|it| ["--param".into(), it.clone()]);
        Some(SweptProgram {
            name: line_of(words),
            words: ["--workload".into(), name.clone()].into_iter().chain(parameters).collect(),
            option: ["--workload".to_owned(), quoted(words)],
        })
    };
    let named = arguments.program.iter().map(|Words(words)| command(words));
    let last = (!arguments.command.is_empty()).then(|| command(&arguments.command));
    let workloads = arguments.workload.iter().filter_map(workload);
    let mut programs: Vec<SweptProgram> = named.chain(last).chain(workloads).collect();
    let mut seen = Vec::new();
    programs.retain(|it| {
        let is_new = !seen.contains(&it.words);
        seen.push(it.words.clone());
        is_new
    });
    match programs.is_empty() {
        false => Ok(programs),
        true => Err(Problem::usage(
            "expected a program to predict, found none",
            "Name it with --program 'COMMAND', --workload NAME, or after `--`.",
        )),
    }
}

/// Words as one argument that a shell, and `--program`, split again.
fn quoted(words: &[OsString]) -> String {
    shell_words::join(words.iter().map(|it| it.to_string_lossy()))
}

fn variants(arguments: &Arguments) -> Result<Vec<CoreVariant>, Problem> {
    let mut models: Vec<String> = Vec::new();
    for name in &arguments.model {
        let named = match name.as_str() {
            "all" => corun_model::names().map(str::to_owned).collect(),
            name => vec![name.to_owned()],
        };
        for name in named {
            if !models.contains(&name) {
                models.push(name);
            }
        }
    }
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (field, values) in &arguments.vary {
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if values.iter().any(|it| it.is_empty()) {
            return Err(Problem::usage(
                format!(
                    "expected values of {field}, found an empty one in \"{}\"",
                    values.join(",")
                ),
                "Write them with commas between: --vary rob.entries=224,512",
            ));
        }
        if combinations.len().saturating_mul(values.len()) > MOST_CELLS {
            return Err(Problem::usage(
                format!("expected at most {MOST_CELLS} cells, found more combinations of --vary"),
                "Name fewer values.",
            ));
        }
        let with_each = |one: &Vec<(String, String)>| {
            values
                .iter()
                .map(|value| [one.clone(), vec![(field.clone(), (*value).to_owned())]].concat())
                .collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with_each).collect();
    }
    let of_model = |model: String| {
        combinations
            .iter()
            .map(move |settings| CoreVariant { model: model.clone(), settings: settings.clone() })
    };
    Ok(models.into_iter().flat_map(of_model).collect())
}

fn options(arguments: &Arguments) -> Vec<String> {
    let shared = &arguments.shared;
    let mut options = vec!["--placement".to_owned(), shared.placement.clone()];
    let time = humantime::format_duration(shared.max_time).to_string().replace(' ', "");
    options.extend(["--max-time".to_owned(), time, "--seed".to_owned(), shared.seed.to_string()]);
    for (field, value) in &shared.set {
        options.extend(["--set".to_owned(), format!("{field}={value}")]);
    }
    for (name, value) in [("--length", &shared.length), ("--tracer", &shared.tracer)] {
        options.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
    }
    options
}
