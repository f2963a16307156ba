//! `corun trend`: how a workload's figures went over its runs, and where their level changed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_compare::{Named, Subject, TrendRequest, subjects, trend};
use corun_record::{Exit, Metric, Record};

use super::named_runs::{NamedRuns, metric};
use crate::answer::Answer;
use crate::keeping;
use crate::problem::{Problem, code};
use crate::values;

/// A share of series without a change in which one is marked, at most.
const ERROR_RATE: f64 = 0.04;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The runs, kept ones or files that corun wrote with --json, in any order [default: all that are kept of the workload]
    #[arg(value_name = "RUN", required_unless_present = "workload", num_args = 1..)]
    runs: Vec<String>,
    /// Show runs of this workload or command, where the runs are of several
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Show these metrics only, such as throughput, makespan or smt-yield
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = metric)]
    metric: Vec<Metric>,
    /// Show these arms only, such as spread or full
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    placement: Vec<String>,
    /// Mark changes from this size on
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    practical: f64,
    /// Write the trend as JSON (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let runs = match (&arguments.runs[..], &arguments.workload) {
        ([], Some(workload)) => kept(workload)?,
        (names, _) => named(names)?,
    };
    let request = TrendRequest {
        workload: arguments.workload.clone(),
        metrics: arguments.metric.clone(),
        arms: arguments.placement.clone(),
        error_rate: ERROR_RATE,
        practical: arguments.practical,
    };
    let record: Record<_> = answer.record(trend(&runs, &request)?);
    answer.write(&record, corun_report::trend_to_terminal)?;
    Ok(code(Exit::Done))
}

fn named(names: &[String]) -> Result<Vec<Named>, Problem> {
    let mut documents = NamedRuns::default();
    let read = |name: &String| {
        let subjects = documents.history(std::slice::from_ref(name))?;
        Ok(Named { name: name.clone(), arm: None, subjects })
    };
    names.iter().map(read).collect()
}

/// All runs of a workload that are kept.
fn kept(workload: &str) -> Result<Vec<Named>, Problem> {
    let read = |name, text: &str| {
        let subjects = subjects(text).ok()?;
        let is_meant = |it: &Subject| workload == it.label() || workload == it.name();
        subjects.iter().any(is_meant).then_some(Named { name, arm: None, subjects })
    };
    let runs = keeping::runs_of(workload, read)?;
    match runs.is_empty() {
        false => Ok(runs),
        true => Err(Problem::usage(
            format!("expected kept runs of {workload:?}, found none"),
            "`corun runs list` has all runs; files can be named instead: corun trend FILE...",
        )),
    }
}
