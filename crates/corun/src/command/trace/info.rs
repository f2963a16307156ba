//! `corun trace info`: what a trace holds, for people and as JSON.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, Record};

use crate::answer::Answer;
use crate::options::{JsonFile, ProgressArguments};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// List this many of the hottest blocks
    #[arg(long, value_name = "N", default_value_t = 5)]
    hottest: usize,
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let trace = super::open(&arguments.file)?;
    let answer = Answer::open(&arguments.json)?;
    let line = StepProgress::new(arguments.progress.quiet);
    let info = corun_trace::info(&trace, arguments.hottest, &line);
    line.finish();
    let caveats = corun_trace::caveats(&info);
    let record = Record { caveats, ..answer.record(info) };
    answer
        .write(&record, |record, columns| corun_report::trace_to_terminal(&record.body, columns))?;
    Ok(code(Exit::Done))
}
