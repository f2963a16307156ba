//! Columns of a document: its head, its answer in one sentence, its samples and observations.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use corun_record::{
    AnyDocument, Arm, Audit, AuditVerdict, Bench, Blocks, CapacityCurve, CheckedJson, EndReason,
    Ending, MachineSummary, Metric, Observation, Placements, Prediction, Record, Run, Sample,
    Schedule, Simulation, Source, StudyResult, ThreadSweep, Workload, excerpt, moment, on_one_line,
    shortened,
};

use crate::error::StoreError;

/// The most characters of a name or an answer in a column.
const MOST: usize = 200;

/// A document taken apart.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) format: String,
    pub(crate) version: i64,
    pub(crate) corun_version: String,
    pub(crate) started: String,
    pub(crate) elapsed_s: f64,
    pub(crate) host: Option<String>,
    pub(crate) workload: String,
    pub(crate) answer: String,
    pub(crate) ending: EndReason,
    /// The subcommand that writes such documents.
    pub(crate) command: &'static str,
    pub(crate) parts: Vec<Part>,
}

/// Part of a document for one workload.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) workload: String,
    pub(crate) operation: String,
    pub(crate) arms: Vec<Arm>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) observations: Vec<Observation>,
}

/// Takes a document apart.
///
/// # Errors
/// If it is no document of a run, or not of a version that this corun reads.
pub(crate) fn content(json: CheckedJson<'_>) -> Result<Content, StoreError> {
    let refused = |error: &dyn fmt::Display| StoreError::Document(error.to_string());
    let version = json.get("version").and_then(|it| it.read::<u64>().ok()).unwrap_or(0);
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let document = AnyDocument::from_checked(json).map_err(|error| refused(&error))?;
    let format = document.format().to_owned();
    let content = match document {
        AnyDocument::Run(run) => of_run(*run),
        AnyDocument::Bench(bench) => of_bench(*bench),
        AnyDocument::Study(study) => of_study(*study),
        AnyDocument::Audit(audit) => of_audit(*audit),
        AnyDocument::Prediction(prediction) => of_predictions(vec![*prediction]),
        AnyDocument::Predictions(table) => of_predictions(table.predictions),
        AnyDocument::Sweep(sweep) => {
            let Record { started, body, .. } = *sweep;
            let predictions = body.cells.into_iter().filter_map(|it| it.prediction).collect();
            Content { started, ..of_predictions(predictions) }
        }
        AnyDocument::Threads(sweep) => of_sweep(*sweep),
        AnyDocument::Capacity(curve) => of_capacity(*curve),
        AnyDocument::Simulation(simulation) => of_simulation(*simulation),
        AnyDocument::Placements(placements) => of_placements(*placements),
        AnyDocument::Blocks(blocks) => of_blocks(*blocks),
        AnyDocument::Schedule(schedule) => of_schedule(*schedule),
        // What follows from kept runs is not kept itself.
        AnyDocument::Comparison(_)
        | AnyDocument::Trend(_)
        | AnyDocument::FleetReport(_)
        | AnyDocument::Other { .. } => {
            let found = on_one_line(&shortened(&format, MOST));
            return Err(refused(&format!("expected the document of a run, found \"{found}\"")));
        }
    };
    check(&content.parts)?;
    Ok(Content {
        format,
        version,
        started: in_utc(&content.started)?,
        workload: listed(&content.workload).into_owned(),
        answer: shortened(&content.answer, MOST).into_owned(),
        ..content
    })
}

/// A start in UTC, as the store sorts and filters it; empty where the document does not say it.
fn in_utc(started: &str) -> Result<String, StoreError> {
    if started.is_empty() {
        return Ok(String::new());
    }
    let time = moment(started).ok_or_else(|| {
        StoreError::Document(format!(
            "expected the start in RFC 3339, such as 2026-11-01T18:30:00Z, found \"{}\" in `started`",
            excerpt(started)
        ))
    })?;
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}

/// Checks that each arm and each sample has a place of its own.
///
/// # Errors
/// The first two that share one.
fn check(parts: &[Part]) -> Result<(), StoreError> {
    for part in parts {
        let mut arms = HashSet::new();
        if let Some(arm) = part.arms.iter().find(|arm| !arms.insert(&arm.id)) {
            let id = excerpt(&arm.id);
            let error = format!("expected arms of different names, found two called \"{id}\"");
            return Err(StoreError::Document(error));
        }
        let mut places = HashSet::new();
        let mut samples = part.samples.iter();
        if let Some(sample) = samples.find(|it| !places.insert((it.block, it.position))) {
            return Err(StoreError::Document(format!(
                "expected one sample at each position of a block, found two at position {} of block {}",
                sample.position, sample.block
            )));
        }
    }
    Ok(())
}

/// Head that documents of all kinds have.
fn head(
    command: &'static str,
    [corun_version, started]: [String; 2],
    elapsed_s: f64,
    machine: Option<MachineSummary>,
    ending: &Ending,
) -> Content {
    Content {
        format: String::new(),
        version: 0,
        corun_version,
        started,
        elapsed_s,
        host: machine.and_then(|it| it.host),
        workload: String::new(),
        answer: String::new(),
        ending: ending.reason,
        command,
        parts: Vec::new(),
    }
}

fn of_record<B>(command: &'static str, record: Record<B>) -> (Content, B) {
    let Record { corun_version, started, elapsed_s, machine, ending, body, .. } = record;
    (head(command, [corun_version, started], elapsed_s, machine, &ending), body)
}

fn of_run(run: Run) -> Content {
    let head = head(
        "measure",
        [run.corun_version.clone(), run.started.clone()],
        run.elapsed_s,
        Some(run.machine.clone()),
        &run.ending,
    );
    let answer = answer_of(&run).unwrap_or_else(|| no_answer(&run.ending));
    Content { workload: run.workload.title(), answer, parts: vec![part(run)], ..head }
}

/// Work as the list of runs has it: the middle of a long command is left out.
pub fn listed(workload: &str) -> Cow<'_, str> {
    shortened(workload, MOST)
}

fn part(run: Run) -> Part {
    part_of(run.workload, run.arms, run.samples, run.observations)
}

fn part_of(
    workload: Workload,
    arms: Vec<Arm>,
    samples: Vec<Sample>,
    mut observations: Vec<Observation>,
) -> Part {
    for seen in &mut observations {
        seen.unit = workload.unit_of(seen);
    }
    Part { workload: workload.label(), operation: workload.operation, arms, samples, observations }
}

fn answer_of(run: &Run) -> Option<String> {
    let verdict = run.verdicts.first().map(|it| it.sentence.clone());
    verdict.or_else(|| {
        let time = run.observations.iter().find(|it| it.metric == Metric::Makespan)?;
        let (value, unit) = match (time.estimate.value, time.unit.as_str()) {
            (value, "s") if value < 1e-3 => (value * 1e6, "µs"),
            (value, "s") if value < 1.0 => (value * 1e3, "ms"),
            (value, unit) => (value, unit),
        };
        Some(format!("{} takes {value:.3} {unit}", time.arm))
    })
}

/// Description of a run without an answer, in the words of its document.
fn no_answer(ending: &Ending) -> String {
    let reason = serde_json::to_value(ending.reason).unwrap_or_default();
    format!("no answer: {}", reason.as_str().unwrap_or_default().replace('_', " "))
}

/// Names, each once, in the order in which they come.
fn joined(names: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.join(", ")
}

fn of_bench(bench: Bench) -> Content {
    let Bench { corun_version, started, elapsed_s, machine, ending, runs, not_possible, .. } =
        bench;
    let head = head("bench run", [corun_version, started], elapsed_s, machine, &ending);
    let answer = match &runs[..] {
        [one] => answer_of(one).unwrap_or_default(),
        _ if not_possible.is_empty() => format!("{} runs", runs.len()),
        _ => format!("{} runs, {} not possible", runs.len(), not_possible.len()),
    };
    let workload = joined(runs.iter().map(|run| run.workload.name.clone()));
    Content { workload, answer, parts: runs.into_iter().map(part).collect(), ..head }
}

fn of_study(study: StudyResult) -> Content {
    let StudyResult { corun_version, started, elapsed_s, machine, ending, .. } = study;
    let head = head("study run", [corun_version, started], elapsed_s, machine, &ending);
    let measured = study.figures.iter().filter(|it| it.measured.is_some()).count();
    let errors = study.errors.iter().map(|error| {
        let column = serde_json::to_value(error.column).unwrap_or_default();
        format!(
            ", {} within {:.0} % of published in the mean",
            column.as_str().unwrap_or_default(),
            error.mean * 100.0
        )
    });
    let answer = format!(
        "{measured} of {} figures measured{}",
        study.figures.len(),
        errors.collect::<String>()
    );
    Content {
        workload: study.study,
        answer,
        parts: study.runs.into_iter().map(part).collect(),
        ..head
    }
}

fn of_audit(audit: Audit) -> Content {
    let Audit { corun_version, started, elapsed_s, machine, ending, rows, .. } = audit;
    let head = head("audit", [corun_version, started], elapsed_s, Some(machine), &ending);
    let mut counts: Vec<(AuditVerdict, usize)> = Vec::new();
    for row in &rows {
        match counts.iter_mut().find(|(verdict, _)| *verdict == row.verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((row.verdict, 1)),
        }
    }
    let said = counts.iter().map(|(verdict, count)| {
        let verdict = serde_json::to_value(verdict).unwrap_or_default();
        format!("{count} {}", verdict.as_str().unwrap_or_default().replace(['_', '-'], " "))
    });
    let answer = said.collect::<Vec<_>>().join(", ");
    let part = |row: corun_record::AuditRow| Part {
        workload: row.property,
        observations: row.observations,
        ..Part::default()
    };
    let workload = "scheduler".to_owned();
    Content { workload, answer, parts: rows.into_iter().map(part).collect(), ..head }
}

fn of_predictions(predictions: Vec<Prediction>) -> Content {
    let completed = Ending::completed();
    let Some(first) = predictions.first() else {
        return head("predict", Default::default(), 0.0, None, &completed);
    };
    let head = head(
        "predict",
        [first.corun_version.clone(), first.started.clone()],
        predictions.iter().map(|it| it.elapsed_s).sum(),
        Some(first.machine.clone()),
        &first.ending,
    );
    let workload = first.title();
    let several = predictions.len() > 1;
    let said = predictions.iter().map(|it| match several {
        true => format!("{}: {}", it.core.model, predicted(it)),
        false => format!("{} on {}", predicted(it), it.core.model),
    });
    let answer = said.collect::<Vec<_>>().join("; ");
    let part = |it: Prediction| Part {
        workload: it.title(),
        operation: it.core.model,
        observations: it.observations,
        ..Part::default()
    };
    Content { workload, answer, parts: predictions.into_iter().map(part).collect(), ..head }
}

fn predicted(prediction: &Prediction) -> String {
    if prediction.not_predicted.is_some() {
        return "not predicted".to_owned();
    }
    let of = |metric: Metric| {
        let it = prediction.estimate(metric, Source::Predicted)?;
        Some(format!("{} {:.2}", metric.name(), it.value))
    };
    let metrics = [Metric::SmtYield, Metric::CoreEquivalence, Metric::InstructionsPerCycle];
    metrics.into_iter().find_map(of).unwrap_or_default()
}

fn of_sweep(record: Record<ThreadSweep>) -> Content {
    let ending = no_answer(&record.ending);
    let (head, sweep) = of_record("threads", record);
    let answer = sweep.answer.map_or(ending, |it| it.sentence);
    let workload = sweep.workload.title();
    let arms = sweep.candidates.into_iter().map(|it| it.arm).collect();
    let part = part_of(sweep.workload, arms, sweep.samples, sweep.observations);
    Content { workload, answer, parts: vec![part], ..head }
}

fn of_capacity(record: Record<CapacityCurve>) -> Content {
    let ending = no_answer(&record.ending);
    let (head, curve) = of_record("capacity", record);
    let answer = curve.answer.as_ref().map_or(ending, |it| {
        let smt_yield = curve
            .smt_yield
            .as_ref()
            .map(|it| format!("; SMT yield {:.2} ({:.2} to {:.2})", it.value, it.low, it.high));
        let used = format!(
            "{:.0} to {:.0} % used at {:.0} % reported",
            it.used_low * 100.0,
            it.used_high * 100.0,
            it.reported * 100.0
        );
        used + &smt_yield.unwrap_or_default()
    });
    let workload = curve.workload.title();
    let part = part_of(curve.workload, curve.arms, curve.samples, curve.observations);
    Content { workload, answer, parts: vec![part], ..head }
}

fn of_simulation(record: Record<Simulation>) -> Content {
    let (head, it) = of_record("simulate", record);
    let answer = format!("IPC {:.2} on {}", it.ipc, it.core.model);
    Content { workload: it.command.join(" "), answer, ..head }
}

fn of_placements(record: Record<Placements>) -> Content {
    let (head, it) = of_record("simulate", record);
    let mut comparisons = it.comparisons.iter();
    let said = comparisons.find(|one| one.metric == Metric::SmtYield).or(it.comparisons.first());
    let said = said.map(|one| format!("{} {:.2} ({})", one.metric.name(), one.mean, one.placement));
    let said = said.unwrap_or_else(|| format!("{} placements", it.placements.len()));
    let answer = format!("{said} on {}", it.core.model);
    Content { workload: joined(it.workers.into_iter()), answer, ..head }
}

fn of_blocks(record: Record<Blocks>) -> Content {
    let (head, it) = of_record("simulate", record);
    let agreement = it.agreement.map(|it| format!(", mean error {:.1} %", it.mean_error * 100.0));
    let answer =
        format!("{} blocks on {}{}", it.blocks.len(), it.core.model, agreement.unwrap_or_default());
    Content { workload: "blocks of code".to_owned(), answer, ..head }
}

fn of_schedule(record: Record<Schedule>) -> Content {
    let (head, it) = of_record("schedule", record);
    let finished = it.runs.iter().filter(|run| run.finished);
    let shortest = finished.min_by(|one, other| one.makespan_s.total_cmp(&other.makespan_s));
    let answer = match shortest {
        Some(run) => {
            format!(
                "{} runs, the shortest {:.3} s under {}",
                it.runs.len(),
                run.makespan_s,
                run.policy
            )
        }
        None => format!("{} runs", it.runs.len()),
    };
    Content { workload: joined(it.runs.into_iter().map(|run| run.load)), answer, ..head }
}
