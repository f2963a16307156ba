//! `corun study show`: one study in full, and how it would run on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_machine::Machine;
use corun_measure::machine_summary;
use corun_record::{Exit, Record};
use corun_study::Host;

use super::prediction::PredictionArguments;
use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The study's name, or a study file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    prediction: PredictionArguments,
    /// Write it as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let study = corun_study::find(&arguments.name)?;
    let machine = Machine::read(Path::new("/"))?;
    let plans = study.plans(&Host { machine: &machine, with_smt_on: None });
    let (cycles, caveats) = arguments.prediction.cycles(&study)?;
    let shown = Record {
        machine: Some(machine_summary(&machine, Path::new("/"))),
        caveats,
        ..answer.record(study.description(&plans, &cycles))
    };
    answer.write(&shown, |shown, columns| {
        corun_report::describe_study(&shown.body, &shown.caveats, columns)
    })?;
    Ok(code(Exit::Done))
}
