//! `corun doctor`: what would spoil a measurement here, for a person or as JSON for a program.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_machine::Machine;
use corun_machine::doctor::{Report, Severity, draw};
use corun_measure::machine_summary;
use corun_record::{Exit, Record};

use crate::answer::Answer;
use crate::options::JsonFile;
use crate::problem::{Problem, code};
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    json: JsonFile,
    /// Examine the machine whose captured /sys and /proc lie below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Watch the machine for this long to see its load, such as 500ms or 10s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    watch: Duration,
    /// End with exit code 1 if a finding is of this severity or a worse one, for scripts and CI
    #[arg(long, value_name = "SEVERITY", value_enum)]
    fail_on: Option<FailOn>,
}

/// From which severity on the doctor fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A comparison made now would be wrong, or cannot be made
    Spoils,
    /// A comparison made now has wider intervals, or is off by a little
    Disturbs,
    /// A check could not be made
    Unknown,
}

impl From<FailOn> for Severity {
    fn from(from: FailOn) -> Self {
        match from {
            FailOn::Spoils => Self::Spoils,
            FailOn::Disturbs => Self::Disturbs,
            FailOn::Unknown => Self::Unknown,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(&arguments.json)?;
    let report = Report::read(&arguments.root, arguments.watch)?;
    let machine = Machine::read(&arguments.root)?;
    let record = Record {
        machine: Some(machine_summary(&machine, &arguments.root)),
        caveats: report.caveats(),
        ..answer.record(report)
    };
    answer.write_coloured(&record, |report| {
        draw(report, terminal::columns(), terminal::has_colour())
    })?;
    match arguments.fail_on.and_then(|from| failure(&record.body, from)) {
        Some(failure) => Err(failure),
        None => Ok(code(Exit::Done)),
    }
}

/// The problem that findings from this severity on are, if there are any.
fn failure(report: &Report, from: FailOn) -> Option<Problem> {
    let severity = Severity::from(from);
    let found: Vec<String> = report
        .diagnoses
        .iter()
        .filter(|found| found.severity <= severity)
        .map(|found| format!("{} ({})", found.check, found.severity.word()))
        .collect();
    let expected = format!("expected no finding from \"{}\" on", severity.word());
    (!found.is_empty()).then(|| {
        Problem::failed(
            format!("{expected}, found {}", found.join(", ")),
            "Follow the advice of the findings, or measure elsewhere.",
        )
    })
}
