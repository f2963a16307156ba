//! `corun compare --over-time`: how a workload's figures went over its runs, and where their level changed.

use std::process::ExitCode;

use corun_compare::{Named, Subject, TrendRequest, subjects, trend};
use corun_record::{Exit, Record};

use super::Arguments;
use crate::answer::Answer;
use crate::command::named_runs::NamedRuns;
use crate::keeping::{self, HISTORY};
use crate::problem::{Problem, code, complain};

/// A share of series without a change in which one is marked, at most.
const ERROR_RATE: f64 = 0.04;

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(&arguments.output.json)?;
    let runs = match (&arguments.runs[..], &arguments.workload) {
        ([], Some(workload)) => kept(workload)?,
        ([], None) => kept(&newest()?)?,
        (names, _) => named(names)?,
    };
    let request = TrendRequest {
        workload: arguments.workload.clone(),
        metrics: arguments.metric.clone(),
        arms: arguments.placement.clone(),
        error_rate: ERROR_RATE,
        practical: arguments.practical.practical,
    };
    let (trend, caveats) = trend(&runs, &request)?;
    let record = Record { caveats, ..answer.record(trend) };
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

/// The workload of the newest run.
fn newest() -> Result<String, Problem> {
    let subjects = NamedRuns::default().history(&["last".to_owned()])?;
    let mut labels: Vec<&str> = subjects.iter().map(Subject::label).collect();
    labels.dedup();
    match labels[..] {
        [label] => Ok(label.to_owned()),
        _ => Err(Problem::usage(
            format!(
                "expected --workload where the newest run has several, found {}",
                labels.join(", ")
            ),
            "Name one of them, or the runs.",
        )),
    }
}

/// All runs of a workload that are kept.
fn kept(workload: &str) -> Result<Vec<Named>, Problem> {
    let read = |name, text: &str| {
        let subjects = subjects(text).ok()?;
        subjects.iter().any(|it| it.is_called(workload)).then_some(Named {
            name,
            arm: None,
            subjects,
        })
    };
    let runs = keeping::runs_of(workload, HISTORY, read)?;
    if runs.len() == HISTORY {
        complain(&format!(
            "corun: older runs of {workload:?} than the newest {HISTORY} are left out"
        ));
    }
    match runs.is_empty() {
        false => Ok(runs),
        true => Err(Problem::usage(
            format!("expected kept runs of {workload:?}, found none"),
            "`corun runs list` has all runs; files can be named instead: corun compare --over-time FILE...",
        )),
    }
}
