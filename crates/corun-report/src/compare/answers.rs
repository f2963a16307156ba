//! Answers of a comparison, in a few lines.

use corun_record::{ChangeAnswer, ComparedObservation, ComparisonGate, RunComparison};
use corun_stats::percent;

use crate::prose::plural;

/// Rows without a claim that are named one by one, if there are no more.
const NAMED: usize = 3;

/// The answers in sentences: changes first, then what is known of the rest.
pub fn answers(comparison: &RunComparison) -> Vec<(ChangeAnswer, String)> {
    let counted = || comparison.observations.iter().filter(|row| !row.restates);
    let of_run = |row: &ComparedObservation| match comparison.runs.len() {
        0..=2 => String::new(),
        _ => format!("{}: ", comparison.runs[row.run as usize].name),
    };
    let sentence = |row: &ComparedObservation| {
        (row.answer, capital(&format!("{}{}", of_run(row), row.sentence)))
    };
    let mut answers: Vec<_> =
        counted().filter(|row| row.answer.is_change()).map(sentence).collect();
    let rest: Vec<_> = counted().filter(|row| !row.answer.is_change()).collect();
    let unchanged = rest.iter().filter(|row| row.answer == ChangeAnswer::NoChange).count();
    let bound = percent(comparison.practical);
    if rest.is_empty() {
    } else if unchanged == rest.len() && answers.is_empty() {
        let all = plural(unchanged, "observation");
        answers.push((ChangeAnswer::NoChange, format!("No change beyond {bound}: all {all}.")));
    } else if rest.len() <= NAMED {
        answers.extend(rest.into_iter().map(sentence));
    } else {
        let open = rest.len() - unchanged;
        let others = if answers.is_empty() { "No change is shown" } else { "The others" };
        answers.push((
            if open > 0 { ChangeAnswer::Inconclusive } else { ChangeAnswer::NoChange },
            format!("{others}: {open} inconclusive, {unchanged} without a change beyond {bound}."),
        ));
    }
    answers
}

/// The number of an answer's colour (SGR, ECMA-48).
pub(super) fn colour(answer: ChangeAnswer) -> &'static str {
    match answer {
        ChangeAnswer::Better => "1;32",
        ChangeAnswer::Worse => "1;31",
        ChangeAnswer::Higher | ChangeAnswer::Lower => "1;36",
        ChangeAnswer::NoChange => "1",
        ChangeAnswer::Inconclusive => "1;33",
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The changes for the worse that the comparison would have shown, if it had been made.
fn what_would_have_been_seen(gate: &ComparisonGate) -> Vec<String> {
    let changes = || gate.visible.iter().map(|it| it.change);
    let [least, most] =
        [changes().fold(f64::INFINITY, f64::min), changes().fold(0.0, f64::max)].map(percent);
    let mut parts = match gate.is_blind() {
        true if gate.fails_as_blind => return Vec::new(),
        true => vec!["nothing could have been seen".to_owned()],
        false if least == most => vec![format!("a change of {least} would have been seen")],
        false => {
            vec![format!("changes of {least} to {most}, by observation, would have been seen")]
        }
    };
    if !gate.is_blind() && !gate.blind.is_empty() {
        parts.push(format!("{} could have shown none", plural(gate.blind.len(), "observation")));
    }
    parts
}

/// The outcome of `--fail-on`.
pub fn gate(gate: &ComparisonGate) -> String {
    let mut parts = Vec::new();
    if let Some(limit) = gate.worse_by {
        parts.push(format!(
            "worse by more than {}: {} shown",
            percent(limit),
            if gate.worse.is_empty() { "none".to_owned() } else { gate.worse.len().to_string() }
        ));
    }
    if !gate.undecided.is_empty() {
        let fails = if gate.inconclusive_fails { "" } else { ", which does not fail it" };
        parts.push(format!("{} not decided{fails}", gate.undecided.len()));
    }
    match gate.spoiled {
        0 => {}
        1 => parts.push("a run that failed, which fails it".to_owned()),
        many => parts.push(format!("{many} workloads of runs that failed, which fails it")),
    }
    parts.extend(what_would_have_been_seen(gate));
    let outcome = match gate.passes {
        true => "passed",
        false if gate.fails_as_blind => "failed, because nothing could have been seen",
        false => "failed",
    };
    match parts.is_empty() {
        true => format!("--fail-on: {outcome}."),
        false => format!("--fail-on: {outcome} ({}).", parts.join("; ")),
    }
}
