//! Predictions on one screen: bars of the core's work or of its issue slots, why, and the answer.

use corun_record::{ClockSource, Metric, Prediction, PredictionTable, Source};
use corun_stats::percent;

use super::{alone, over_measured, program, siblings, words};
use crate::bars::{Bar, bars};
use crate::figures::seconds;
use crate::grid::listing;
use crate::prose;
use crate::screen::{Screen, View, limits};
use crate::tables::Table;
use crate::top_down::Category;

/// Kinds of caveats that hold for every prediction.
const OF_EVERY_PREDICTION: [&str; 4] =
    ["alone", "model-error", "sibling-model-error", "sibling-clock"];

/// The prediction with its answer, on one screen.
pub fn prediction_on_screen(prediction: &Prediction, view: &View) -> String {
    let is_beside = !prediction.beside.is_empty();
    let screen = Screen {
        heading: vec![program(prediction), machines(prediction)],
        picture: match is_beside {
            true => siblings::picture(prediction, view.columns),
            false => slots(prediction, view.columns),
        },
        reasons: match is_beside {
            true => siblings::reasons(prediction),
            false => vec![speed(prediction)],
        },
        answers: answers(prediction),
        notice: None,
        advice: siblings::next_step(prediction),
        limits: trust(prediction),
    };
    screen.text(view)
}

/// Predictions for several cores with the answer, on one screen.
pub fn predictions_on_screen(table: &PredictionTable, view: &View) -> String {
    let all = &table.predictions;
    let header = ["core", "IPC alone", "placement", "work, times one", "time of each", "a sibling"];
    let rows = Table {
        header: header.map(str::to_owned).to_vec(),
        rows: all.iter().flat_map(siblings::rows).collect(),
    };
    let mut sentences: Vec<String> = Vec::new();
    for sentence in all.iter().flat_map(trust) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    let screen = Screen {
        heading: all.first().map(program).into_iter().collect(),
        picture: listing(&rows, view.columns, &["IPC alone"], &[("a sibling", 8)]),
        answers: vec![siblings::most_and_least(all).unwrap_or_else(|| {
            "No two of these cores have a figure beside a busy sibling.".to_owned()
        })],
        reasons: all.iter().flat_map(siblings::remarks).collect(),
        notice: None,
        advice: None,
        limits: sentences,
    };
    screen.text(view)
}

/// The core that was simulated, and the machine beside it.
fn machines(prediction: &Prediction) -> String {
    let core = &prediction.core;
    let here = prose::machine_in_short(&prediction.machine);
    match core.is_own {
        true => format!("on {}, the core of this machine: {here}", core.model),
        false => format!("on {}; this machine: {here}", core.model),
    }
}

/// The answer; what has no figure beside a sibling is part of it.
fn answers(prediction: &Prediction) -> Vec<String> {
    let missing = siblings::missing(prediction);
    let missing = (!missing.is_empty()).then(|| missing.join(" "));
    let alone = prediction.beside.is_empty().then(|| alone(prediction));
    missing.into_iter().chain(alone).chain(siblings::findings(prediction)).collect()
}

/// Limits that are not in the answer already: first those without which it misleads, last those of every prediction.
fn trust(prediction: &Prediction) -> Vec<String> {
    let missing = siblings::missing(prediction);
    let mut sentences = siblings::reservations(prediction);
    sentences.retain(|it| !missing.contains(it));
    let (every, own): (Vec<_>, Vec<_>) = prediction
        .caveats
        .iter()
        .filter(|it| !missing.contains(&it.sentence))
        .partition(|it| OF_EVERY_PREDICTION.contains(&it.kind.as_str()));
    for sentence in limits(own).into_iter().chain(limits(every)) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// A bar for the issue slots of each category, with what most of them were lost to.
fn slots(prediction: &Prediction, columns: u16) -> String {
    let of = |category: Category| {
        let parts = prediction.stack.iter().filter(|it| Category::of(&it.component) == category);
        let parts: Vec<_> = parts.collect();
        let share: f64 = parts.iter().map(|it| it.share).sum();
        let largest = parts.iter().max_by(|one, other| one.share.total_cmp(&other.share));
        let most =
            largest.filter(|it| it.component != "retiring").map(|it| words::gerund(&it.component));
        Bar {
            label: category.name().to_owned(),
            value: share,
            limits: None,
            columns: vec![percent(share), most.filter(|_| share > 0.0).unwrap_or_default()],
        }
    };
    match prediction.stack.is_empty() {
        true => String::new(),
        false => bars(&Category::ALL.map(of), &["slots", "mostly"], columns),
    }
}

/// Speed of the program alone, predicted and measured.
fn speed(prediction: &Prediction) -> String {
    let of = |metric| prediction.estimate(metric, Source::Predicted);
    let Some(ipc) = of(Metric::InstructionsPerCycle) else { return String::new() };
    let clock = match prediction.core.clock {
        ClockSource::Measured => "the clock measured here",
        ClockSource::Model => "the model's clock",
    };
    let time = of(Metric::UserTime).map_or_else(String::new, |time| {
        format!(", {} at {clock} of {:.2} GHz", seconds(time.value), prediction.core.ghz)
    });
    let measured = match over_measured(prediction, Metric::Cycles) {
        ratio if prediction.core.is_own && ratio != "-" => {
            format!("; {ratio} times the cycles measured here")
        }
        _ => String::new(),
    };
    format!(
        "IPC {:.2}{time}{measured}; {:.1} branch MPKI.",
        ipc.value, prediction.mispredicts_per_thousand
    )
}
