//! `corun study list`: the studies that come with corun.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, StudyList};
use corun_study::Study;

use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the list as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let studies = corun_study::all()?.iter().map(Study::listed).collect();
    answer.give(StudyList { studies }, corun_report::list_studies)?;
    Ok(code(Exit::Done))
}
