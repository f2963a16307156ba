//! A study on one screen: what was published beside what was found here, and which conclusions hold.

use std::collections::BTreeMap;

use corun_record::{Caveat, EndReason, StudyFigure, StudyResult};

use super::page::{answers, course, partial};
use super::rows::errors;
use crate::bars::{Bar, bars};
use crate::figures::{self, is_sensible, ratio, three_digits};
use crate::prose::{self, plural};
use crate::screen::{NextStep, Screen, View, limits};

/// The result of a study with its answer, on one screen.
pub fn study_on_screen(result: &StudyResult, view: &View) -> String {
    let machine = result.machine.as_ref().map(prose::machine_in_short);
    let screen = Screen {
        heading: vec![
            format!("{}: {}", result.study, result.title),
            format!(
                "Published on {}; here: {}",
                result.published_on.split(',').next().unwrap_or_default(),
                machine.unwrap_or_else(|| "an unknown machine".to_owned())
            ),
        ],
        picture: picture(result, view.columns),
        reasons: std::iter::once(course(result)).chain(errors(&result.errors)).collect(),
        answers: answers(result),
        notice: partial(result).map(|why| format!("PARTIAL RESULT: {why}")),
        advice: Some(next_step(result)),
        limits: not_measured(result).into_iter().chain(trust(result)).collect(),
    };
    screen.text(view)
}

/// A bar for each figure that has a counterpart here, with the published one: ratios where there are any, else how the
/// figures here relate to the published ones.
fn picture(result: &StudyResult, columns: u16) -> String {
    let ratios = result.figures.iter().filter(|it| it.unit == "1").filter_map(of_ratio);
    let ratios: Vec<Bar> = ratios.collect();
    if !ratios.is_empty() {
        return bars(&ratios, &["here", "published", "predicted"], columns);
    }
    let others: Vec<Bar> = result.figures.iter().filter_map(of_other).collect();
    match others.is_empty() {
        true => String::new(),
        false => bars(&others, &["here/published", "here", "published"], columns),
    }
}

/// A figure that is a ratio, with what was measured, else predicted, as its bar.
fn of_ratio(figure: &StudyFigure) -> Option<Bar> {
    let measured = figure.measured.as_ref().filter(|it| is_sensible(it));
    let predicted = figure.predicted.as_ref().filter(|it| is_sensible(it));
    let shown = measured.or(predicted)?;
    let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), three_digits);
    Some(Bar {
        label: figure.id.clone(),
        value: shown.value,
        limits: Some([shown.low, shown.high]),
        columns: vec![
            measured.map_or_else(|| "-".to_owned(), ratio),
            text(figure.published.as_ref().map(|it| it.value)),
            text(predicted.map(|it| it.value)),
        ],
    })
}

/// A figure of another unit, with its ratio to the published one as its bar.
fn of_other(figure: &StudyFigure) -> Option<Bar> {
    let relative = figure.ratio.as_ref().filter(|it| is_sensible(it))?;
    let unit = figures::unit(&figure.unit);
    let text = |value: Option<f64>| {
        value.map_or_else(|| "-".to_owned(), |it| format!("{} {unit}", three_digits(it)))
    };
    Some(Bar {
        label: figure.id.clone(),
        value: relative.value,
        limits: Some([relative.low, relative.high]),
        columns: vec![
            ratio(relative),
            text(figure.measured.as_ref().map(|it| it.value)),
            text(figure.published.as_ref().map(|it| it.value)),
        ],
    })
}

/// Next step: more time where it was short, else what the study says of its figures.
fn next_step(result: &StudyResult) -> NextStep {
    let name = &result.study;
    match result.ending.reason {
        EndReason::Interrupted => {
            NextStep::by("let it run to its end", format!("corun study run {name}"))
        }
        EndReason::TimeUp => NextStep::by(
            format!("give it more time than {:.0} s", result.max_time_s),
            format!("corun study run {name} --max-time TIME"),
        ),
        _ => NextStep::by(
            "see each figure and what was concluded",
            format!("corun study show {name}"),
        ),
    }
}

/// The reasons why figures were not measured, with their number each.
fn not_measured(result: &StudyResult) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for figure in result.figures.iter().filter(|it| it.measured.is_none()) {
        let reason = figure.not_possible.as_deref().unwrap_or("no reason is known");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let said = |(reason, count): (&str, usize)| {
        format!("{} not measured: {reason}", plural(count, "figure"))
    };
    reasons.into_iter().map(said).collect()
}

/// Caveats of the runs, a sentence of each kind, and of the study.
fn trust(result: &StudyResult) -> Vec<String> {
    let mut kinds: BTreeMap<&str, &Caveat> = BTreeMap::new();
    let all = result.runs.iter().flat_map(|run| &run.caveats).chain(&result.caveats);
    for caveat in all {
        kinds.entry(&caveat.kind).or_insert(caveat);
    }
    limits(kinds.into_values())
}
