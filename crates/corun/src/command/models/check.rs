//! `corun models check`: reads model files, and says of each what is wrong with it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_model::timing::TimingTable;
use corun_model::{CoreModel, ModelError, Validation, compare_published};
use corun_record::{CheckedModel, Exit, ModelChecks, on_one_line, shortened};

use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Model files (.toml), or names of models that come with corun
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Write the answers as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let files = arguments.files.iter().map(|file| check(file));
    let checks = ModelChecks { files: files.collect::<Result<_, Problem>>()? };
    let all_are_right = checks.files.iter().all(|it| it.is_right);
    answer.give(checks, |checks, _| corun_report::checked_models(checks))?;
    Ok(code(if all_are_right { Exit::Done } else { Exit::Failed }))
}

fn check(file: &str) -> Result<CheckedModel, Problem> {
    let (is_right, sentences) = match corun_model::find(file) {
        Ok(model) => match faults(&model) {
            faults if faults.is_empty() => {
                let validation = Validation::of(&compare_published(&model)?);
                (true, vec![format!("{}: right; {validation}", on_one_line(file))])
            }
            faults => (false, faults),
        },
        Err(ModelError::Invalid { file: name, faults }) => {
            (false, faults.iter().map(|fault| format!("{name}, {fault}")).collect())
        }
        Err(error) => return Err(error.into()),
    };
    Ok(CheckedModel { file: file.to_owned(), is_right, sentences })
}

/// What is wrong with the model's timing tables.
fn faults(model: &CoreModel) -> Vec<String> {
    let reported = |text: String| shortened(&on_one_line(&text), 1000).into_owned();
    match TimingTable::unchecked(model) {
        Err(error) => vec![reported(error.to_string())],
        Ok(timings) => {
            let faults = timings.implausible();
            faults.iter().map(|it| reported(timings.refusal(it).to_string())).collect()
        }
    }
}
