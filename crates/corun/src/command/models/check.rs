//! `corun models check`: reads model files, and says of each what is wrong with it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_model::ModelError;
use corun_model::timing::TimingTable;
use corun_record::{Exit, on_one_line, shortened};
use serde::Serialize;

use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Model files (.toml), or names of models that come with corun
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Write the answers as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is said of a file, and the form of `--json`.
#[derive(Serialize)]
struct Checked<'a> {
    file: &'a str,
    is_right: bool,
    sentences: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let checked = arguments.files.iter().map(|file| check(file));
    let checked = checked.collect::<Result<Vec<_>, Problem>>()?;
    super::answer(arguments.json.as_deref(), &checked, |_| {
        let lines = checked.iter().flat_map(|it| &it.sentences);
        lines.map(|line| format!("{line}\n")).collect()
    })?;
    let all_are_right = checked.iter().all(|it| it.is_right);
    Ok(code(if all_are_right { Exit::Done } else { Exit::Failed }))
}

fn check(file: &str) -> Result<Checked<'_>, Problem> {
    match corun_model::find(file) {
        Ok(model) => {
            let reported = |text: String| shortened(&on_one_line(&text), 1000).into_owned();
            let timings = match TimingTable::unchecked(&model) {
                Ok(timings) => timings,
                Err(error) => {
                    let sentences = vec![reported(error.to_string())];
                    return Ok(Checked { file, is_right: false, sentences });
                }
            };
            let faults = timings.implausible();
            if !faults.is_empty() {
                let tell = |fault| reported(timings.refusal(fault).to_string());
                let sentences = faults.iter().map(tell).collect();
                return Ok(Checked { file, is_right: false, sentences });
            }
            let validation =
                corun_report::validation(&model, &crate::core_model::compared(&model)?);
            let sentence = format!("{}: right; {validation}", on_one_line(file));
            Ok(Checked { file, is_right: true, sentences: vec![sentence] })
        }
        Err(ModelError::Invalid { file: name, faults }) => {
            let sentences = faults.iter().map(|fault| format!("{name}, {fault}")).collect();
            Ok(Checked { file, is_right: false, sentences })
        }
        Err(error) => Err(error.into()),
    }
}
