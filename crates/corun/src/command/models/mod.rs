//! `corun models`: cores as data: listed, described, checked, compared, measured.

mod calibrate;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_model::compare_published;
use corun_model::timing::TimingTable;
use corun_record::{Exit, ModelChecks, ModelList};

pub(in crate::command) use calibrate::read_blocks;

use crate::answer::Answer;
use crate::options::JsonFile;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    // Alone, it lists.
    #[command(flatten)]
    list: JsonFile,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models: the machine of each, and whether it was checked
    List(JsonFile),
    /// Say all about a model: every figure, what siblings do with it, where it is from
    Show(ShowArguments),
    /// Read model files, and say what is wrong with them
    Check(CheckArguments),
    /// Measure this host's core with timed code, as a model
    Calibrate(calibrate::Arguments),
    /// Show two models side by side where they differ
    Diff(DiffArguments),
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// The model's name, or a model file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    json: JsonFile,
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// Model files (.toml), or names of models that come with corun
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    json: JsonFile,
}

#[derive(Debug, Args)]
struct DiffArguments {
    /// A model's name, or a model file that ends in .toml
    #[arg(value_name = "A")]
    a: String,
    /// The other one
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    json: JsonFile,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.action {
        None => list(&arguments.list),
        Some(Action::List(json)) => list(json),
        Some(Action::Show(arguments)) => arguments.run(),
        Some(Action::Check(arguments)) => arguments.run(),
        Some(Action::Calibrate(arguments)) => calibrate::run(arguments),
        Some(Action::Diff(arguments)) => arguments.run(),
    }
}

fn list(json: &JsonFile) -> Result<ExitCode, Problem> {
    let answer = Answer::open(json)?;
    let mut models = Vec::new();
    for model in corun_model::all()? {
        models.push(corun_model::listed(&model, &compare_published(&model)?));
    }
    answer.give(ModelList { models }, corun_report::list_models)?;
    Ok(code(Exit::Done))
}

impl ShowArguments {
    fn run(&self) -> Result<ExitCode, Problem> {
        let answer = Answer::open(&self.json)?;
        let model = corun_model::find(&self.name)?;
        let (compared, timings) = (compare_published(&model)?, TimingTable::of(&model)?);
        answer.give(
            corun_model::description(&model, &compared, &timings),
            corun_report::describe_model,
        )?;
        Ok(code(Exit::Done))
    }
}

impl CheckArguments {
    fn run(&self) -> Result<ExitCode, Problem> {
        let answer = Answer::open(&self.json)?;
        let files = self.files.iter().map(|file| corun_model::checked(file));
        let checks = ModelChecks { files: files.collect::<Result<_, _>>()? };
        let all_are_right = checks.files.iter().all(|it| it.is_right);
        answer.give(checks, |checks, _| corun_report::checked_models(checks))?;
        Ok(code(if all_are_right { Exit::Done } else { Exit::Failed }))
    }
}

impl DiffArguments {
    fn run(&self) -> Result<ExitCode, Problem> {
        let answer = Answer::open(&self.json)?;
        let (a, b) = (corun_model::find(&self.a)?, corun_model::find(&self.b)?);
        answer.give(corun_model::differences(&a, &b), corun_report::models_side_by_side)?;
        Ok(code(Exit::Done))
    }
}
