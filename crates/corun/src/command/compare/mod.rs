//! `corun compare`: whether a run is better or worse than another, beyond the random differences of equal runs.

mod over_time;

use std::process::ExitCode;

use clap::Args;
use corun_compare::{Blind, ComparisonRequest, FailOn, compare, gate};
use corun_record::{ComparisonGate, Document, Exit, Metric, Record, RunComparison};

use super::named_runs::{NamedRuns, metric};
use crate::answer::Head;
use crate::exports::{Exports, Form};
use crate::options::{JsonFile, MarkdownFile, PracticalArguments, ViewArguments};
use crate::problem::{Problem, code, say};
use crate::{terminal, values};

/// The confidence with which all intervals hold together.
const CONFIDENCE: f64 = 0.95;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The runs: kept ones by their names, or files that corun wrote with --json (`-` is standard input); the first is the
    /// base. RUN#ARM is one arm of it [default: the last run and the one before of the same; with --over-time all that are kept of
    /// the workload]
    #[arg(value_name = "RUN", num_args = 2..)]
    runs: Vec<String>,
    /// Show the runs of a workload in the order of their start, and where their level changed
    #[arg(long, conflicts_with_all = ["history", "fail_on", "markdown", "brief"])]
    over_time: bool,
    /// With --over-time: show this workload or command [default: that of the runs]
    #[arg(long, value_name = "NAME", requires = "over_time")]
    workload: Option<String>,
    /// With --over-time: show these arms only, such as spread or full
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "over_time")]
    placement: Vec<String>,
    /// Earlier runs of the same things, beside those that are kept: how much equal runs differ
    #[arg(long, value_name = "RUN", num_args = 1..)]
    history: Vec<String>,
    /// Compare these metrics only, such as throughput, makespan or smt-yield
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = metric)]
    metric: Vec<Metric>,
    #[command(flatten)]
    practical: PracticalArguments,
    /// Exit with status 1 if this is so: worse:2% (shown to be worse by more than that), inconclusive; and with 5 if no
    /// change could have been seen
    #[arg(long, value_name = "CONDITION", value_delimiter = ',', value_parser = fail_on)]
    fail_on: Vec<FailOn>,
    /// With --fail-on: pass where no change could have been seen
    #[arg(long, requires = "fail_on")]
    allow_blind: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    markdown: MarkdownFile,
    #[command(flatten)]
    view: ViewArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if arguments.over_time {
        return over_time::run(arguments);
    }
    let head = Head::now();
    let exports: Exports<Record<RunComparison>> = Exports::open([
        (arguments.output.json.path(), Record::to_json as Form<Record<RunComparison>>),
        (arguments.output.markdown.path(), corun_report::comparison_to_markdown),
    ])?;
    let mut documents = NamedRuns::default();
    let runs = match arguments.runs.is_empty() {
        true => documents.newest_two()?,
        false => arguments.runs.iter().map(|it| documents.named(it)).collect::<Result<_, _>>()?,
    };
    let mut history = documents.history(&arguments.history)?;
    history.extend(documents.kept_like(&runs));
    let request = ComparisonRequest {
        confidence: CONFIDENCE,
        practical: arguments.practical.practical,
        metrics: arguments.metric.clone(),
    };
    let (mut comparison, caveats) = compare(&runs, &history, &request);
    if comparison.observations.is_empty() {
        return Err(nothing_in_common(&comparison));
    }
    let blind = if arguments.allow_blind { Blind::Passes } else { Blind::Fails };
    comparison.gate = gate(&arguments.fail_on, blind, &comparison);
    let record = Record { caveats, ..head.record(comparison) };
    exports.write_coloured(&record, |record| arguments.output.shown(record), Record::to_json)?;
    record.body.gate.as_ref().map_or(Ok(code(Exit::Done)), outcome)
}

/// The exit code by what `--fail-on` asks.
fn outcome(gate: &ComparisonGate) -> Result<ExitCode, Problem> {
    if gate.fails_as_blind {
        return Err(blind(gate));
    }
    if !gate.passes {
        say("corun: --fail-on: the comparison failed");
    }
    Ok(code(if gate.passes { Exit::Done } else { Exit::Failed }))
}

/// Problem of a comparison that would have shown no change.
fn blind(gate: &ComparisonGate) -> Problem {
    match gate.blind.is_empty() {
        true => Problem::interrupted(
            "--fail-on: expected an observation that gets better or worse, found none",
            "Compare times or throughputs; a ratio between placements falls also when a single worker gets faster.",
        ),
        false => Problem::interrupted(
            "--fail-on: expected a comparison that shows a doubling at least, found none: nothing could have been seen",
            "Measure other runs, on an idle machine and for longer, or pass all the same with --allow-blind.",
        ),
    }
}

impl OutputArguments {
    fn shown(&self, record: &Record<RunComparison>) -> String {
        let form = match self.view.brief {
            true => corun_report::comparison_in_brief,
            false => corun_report::comparison_to_terminal,
        };
        form(record, terminal::width(), terminal::has_colour())
    }
}

/// Why there is nothing to show.
fn nothing_in_common(comparison: &RunComparison) -> Problem {
    let first = comparison.not_compared.first();
    let reason = first.map(|it| format!(" ({}: {})", it.what, it.reason)).unwrap_or_default();
    Problem::usage(
        format!("expected runs with an observation in common, found none{reason}"),
        "Name runs of the same workload and placements, or two arms of one run, as RUN#spread RUN#full.",
    )
}

/// `worse:2%` or `inconclusive`.
fn fail_on(text: &str) -> Result<FailOn, String> {
    match text.split_once(':') {
        Some(("worse", limit)) => values::percentage(limit).map(FailOn::WorseBy),
        None if text == "inconclusive" => Ok(FailOn::Inconclusive),
        _ => Err(format!("expected worse:PERCENT or inconclusive, found \"{text}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_a_limit_or_none() {
        assert_eq!(fail_on("worse:2%"), Ok(FailOn::WorseBy(0.02)));
        assert_eq!(fail_on("inconclusive"), Ok(FailOn::Inconclusive));
        for wrong in ["worse", "worse:", "worse:2", "better:2%", "inconclusive:2%", ""] {
            assert!(fail_on(wrong).is_err(), "{wrong}");
        }
    }
}
