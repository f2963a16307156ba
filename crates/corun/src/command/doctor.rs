//! `corun doctor`: what would spoil a measurement here, for a person or as JSON for a program.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_machine::Machine;
use corun_machine::doctor::{Report, draw};
use corun_record::{Exit, Record};

use crate::answer::{Answer, summary_of};
use crate::problem::{Problem, code};
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the report as JSON to FILE instead of showing it (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Examine the machine whose captured /sys and /proc lie below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Watch the machine for this long to see its load, such as 500ms or 10s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    watch: Duration,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let report = Report::read(&arguments.root, arguments.watch)?;
    let machine = Machine::read(&arguments.root)?;
    let record = Record {
        machine: Some(summary_of(&machine, &arguments.root)),
        caveats: report.caveats(),
        ..answer.record(report)
    };
    answer.write_coloured(&record, |report| {
        draw(report, terminal::columns(), terminal::has_colour())
    })?;
    Ok(code(Exit::Done))
}
