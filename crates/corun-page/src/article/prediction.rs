//! The article of predictions: where cycles go, alone and beside a sibling, and why; a matrix of pairs.

use std::collections::BTreeSet;

use corun_record::{
    Effect, Metric, Observation, PredictedPlacement, Prediction, Source, StackShare,
};
use corun_report::parts::{figures, prediction, prose};
use corun_report::{interval, ratio};

use super::common::{capital, limits, machine, origin, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::Plot;
use crate::plot::bars::{Bar, Bars};
use crate::plot::heat::{Cell, Heat};
use crate::plot::stacks::{Part as Share, Stack, Stacks};

/// Components below this share are drawn as one.
const MIN_SHARE: f64 = 0.015;
/// The classes of the top-down categories.
const CATEGORIES: [(&str, &str); 5] = [
    ("c3", "retiring"),
    ("c4", "bad speculation"),
    ("c5", "front-end bound"),
    ("c1", "back-end bound, core"),
    ("c2", "back-end bound, memory"),
];
const SIBLING: (&str, &str) = ("c6", "taken by the sibling");

pub(super) fn article(predictions: &[Prediction], detail: Detail) -> Article {
    let Some(first) = predictions.first() else { return Article::default() };
    let mut sections = Vec::new();
    let mut pictures: Vec<Part> = Vec::new();
    pictures.extend(work(predictions).map(Part::from));
    pictures.extend(predictions.iter().map(|it| Part::from(stack(it, detail))));
    pictures.extend(predictions.iter().filter_map(causes).map(Part::from));
    sections.push(Section::new("In pictures", pictures));
    let of_core = |it: &Prediction, sentence: String| match predictions.len() {
        1 => sentence,
        _ => format!("{}: {sentence}", it.core.model),
    };
    let all = |of: fn(&Prediction) -> Vec<String>| -> Vec<String> {
        predictions
            .iter()
            .flat_map(|it| of(it).into_iter().map(move |sentence| of_core(it, sentence)))
            .collect()
    };
    sections.extend(Section::of_sentences("Why", all(prediction::reasons)));
    sections.extend(Section::of_sentences("What to do", all(prediction::advice)));
    for it in predictions {
        let mut table = prediction::figures(it);
        table.header[0] = "alone".to_owned();
        let caption = format!("Alone on {}: predicted beside measured", it.core.model);
        let mut parts = vec![Part::Table(Table::new(caption, table, detail))];
        parts.extend(misses(it, detail).map(Part::Table));
        sections.push(Section::new(format!("Figures for {}", it.core.title), parts));
    }
    let mut caveats = Vec::new();
    for caveat in predictions.iter().flat_map(|it| &it.caveats) {
        if !caveats.contains(caveat) {
            caveats.push(caveat.clone());
        }
    }
    sections.extend(trust(&caveats, &first.ending));
    let stacks = predictions.iter().flat_map(|it| {
        prediction::sentences(&it.stack).into_iter().map(move |line| of_core(it, line))
    });
    let mut evidence = vec![Part::List(predictions.iter().flat_map(prediction::course).collect())];
    evidence.push(Part::Paragraph("Where the issue slots go alone:".to_owned()));
    evidence.push(Part::List(stacks.collect()));
    sections.push(Section::folded("The evidence", evidence));
    let mut facts = vec![("command".to_owned(), shell_words::join(&first.command))];
    facts.extend(predictions.iter().map(|it| {
        (
            "core model".to_owned(),
            format!("{} ({}): {}", it.core.model, it.core.title, it.core.reason),
        )
    }));
    facts.extend(origin(&first.corun_version, &first.started, first.elapsed_s, &first.ending));
    let facts = facts.into_iter().map(|(name, value)| (capital(&name), value)).collect();
    sections.push(Section::folded("The exact command", vec![Part::Facts(facts)]));
    sections.extend(machine(Some(&first.machine)));
    Article {
        kind: "Prediction",
        title: first.title(),
        answers: answers(predictions),
        sections,
        ..Article::default()
    }
}

fn answers(predictions: &[Prediction]) -> Vec<Statement> {
    let whole = prediction::most_and_least(predictions).map(|it| Statement::new("even", it));
    let each = predictions.iter().flat_map(|it| {
        let siblings: Vec<String> = prediction::answers(it);
        let alone = it.beside.is_empty().then(|| prediction::alone(it));
        let all = alone.into_iter().chain(siblings);
        all.map(|it| Statement::new(tone(&it), it)).collect::<Vec<_>>()
    });
    whole.into_iter().chain(each).collect()
}

/// Which way a sentence goes, by the words that the report has for it.
fn tone(sentence: &str) -> &'static str {
    match sentence {
        it if it.contains(" may help or hurt") || it.starts_with("Not to be trusted") => "open",
        it if it.starts_with("It is not predicted") => "open",
        it if it.contains(" helps") => "good",
        it if it.contains(" hurts") => "bad",
        _ => "even",
    }
}

fn figure(
    prediction: &Prediction,
    metric: Metric,
    placement: &PredictedPlacement,
) -> Option<Observation> {
    let arm = placement.placement.to_string();
    let is_it =
        |it: &&Observation| it.metric == metric && it.arm == arm && it.source == Source::Predicted;
    prediction.observations.iter().find(is_it).cloned()
}

/// The work of a core beside that of one copy.
fn work(predictions: &[Prediction]) -> Option<Figure> {
    let mut rows = vec![Bar {
        label: "one copy, alone".to_owned(),
        value: Some(1.0),
        figure: "1.00".to_owned(),
        class: "c6",
        ..Bar::default()
    }];
    for it in predictions {
        for placement in &it.beside {
            let Some(seen) = figure(it, Metric::SmtYield, placement) else { continue };
            let beside = match placement.beside.is_empty() {
                true => format!("{} copies on a core", placement.threads),
                false => "beside another program".to_owned(),
            };
            rows.push(Bar {
                label: if predictions.len() > 1 { it.core.model.clone() } else { beside.clone() },
                remark: format!(
                    "{}, {}",
                    placement.placement,
                    if predictions.len() > 1 { beside } else { it.core.model.clone() }
                ),
                value: figures::is_sensible(&seen.estimate).then_some(seen.estimate.value),
                limits: limits(&seen.estimate),
                figure: format!("{} ({})", ratio(&seen.estimate), interval(&seen.estimate)),
                class: "c1",
                ..Bar::default()
            });
        }
        for changed in &it.what_if {
            rows.push(Bar {
                label: "what if".to_owned(),
                remark: changed.setting.clone(),
                value: Some(changed.estimate.value),
                limits: limits(&changed.estimate),
                figure: format!("{} ({})", ratio(&changed.estimate), interval(&changed.estimate)),
                class: "c4",
                ..Bar::default()
            });
        }
    }
    (rows.len() > 1).then(|| Figure {
        name: "siblings",
        message: answers(predictions).into_iter().next().map_or_else(String::new, |it| it.sentence),
        note: format!(
            "Predicted work of a core whose hardware threads are all busy, beside that of one copy alone on it; \
             longer is better. Line: the interval, with the model's own error. {}.",
            predictions.first().map(Prediction::title).unwrap_or_default()
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "work of the core, one copy alone is 1".to_owned(),
            reference: Some((1.0, "one copy".to_owned())),
        }),
        table: None,
    })
}

/// The cycle stack alone, and beside the siblings.
fn stack(prediction: &Prediction, detail: Detail) -> Figure {
    let ipc = prediction.estimate(Metric::InstructionsPerCycle, Source::Predicted);
    let mut rows = vec![Stack {
        label: "alone".to_owned(),
        parts: parts(&prediction.stack),
        figure: ipc.map_or_else(String::new, |it| format!("IPC {:.2}", it.value)),
    }];
    for placement in &prediction.beside {
        rows.push(Stack {
            label: format!("beside, {}", placement.placement),
            parts: parts(&placement.stack),
            figure: format!("{:.2} × the cycles", placement.slowdown.value),
        });
    }
    let occurs = |class: &str| rows.iter().flat_map(|it| &it.parts).any(|it| it.class == class);
    let legend: Vec<(&'static str, String)> = CATEGORIES
        .into_iter()
        .chain([SIBLING])
        .filter(|(class, _)| occurs(class))
        .map(|(class, name)| (class, name.to_owned()))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    let all = [&prediction.stack].into_iter().chain(prediction.beside.iter().map(|it| &it.stack));
    for part in all.clone().flatten() {
        if !names.contains(&part.component.as_str()) {
            names.push(&part.component);
        }
    }
    let share = |stack: &[StackShare], name: &str| {
        let found = stack.iter().find(|it| it.component == name);
        found.map_or_else(|| "-".to_owned(), |it| corun_stats::percent(it.share))
    };
    let table = names.iter().map(|name| {
        let shares = all.clone().map(|stack| share(stack, name));
        [(*name).to_owned(), category(name).1.to_owned()].into_iter().chain(shares).collect()
    });
    let table = table.collect();
    let header: Vec<String> = ["component", "category", "alone"]
        .map(str::to_owned)
        .into_iter()
        .chain(prediction.beside.iter().map(|it| format!("beside, {}", it.placement)))
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    Figure {
        name: "cycles",
        message: slots(prediction),
        note: format!(
            "Predicted. Each bar is all issue slots of the program: alone on the core, and beside busy siblings, where it \
             takes so many times as long. Colours are the categories of the top-down method. {}; core model {} ({}).",
            prediction.title(),
            prediction.core.model,
            prediction.core.title
        ),
        plot: Plot::Stacks(Stacks {
            rows,
            axis: "share of the program's issue slots".to_owned(),
            legend,
        }),
        table: Some(Table::of("Each component", &header, table, detail)),
    }
}

/// Use of the slots, alone: the work, and the largest loss.
fn slots(prediction: &Prediction) -> String {
    let (name, core) = (prediction.program(), &prediction.core.model);
    let share = |of: &StackShare| corun_stats::percent(of.share);
    let is_work = |it: &&StackShare| it.component == "retiring";
    let (work, lost): (Vec<&StackShare>, Vec<&StackShare>) =
        prediction.stack.iter().partition(is_work);
    let most = lost.into_iter().max_by(|one, other| one.share.total_cmp(&other.share));
    match (work.first(), most) {
        (Some(work), Some(most)) => format!(
            "Where the issue slots of {name} go on {core}: alone, {} work, and {} are lost {}",
            share(work),
            share(most),
            prediction::gerund(&most.component)
        ),
        _ => format!("Where the issue slots of {name} go on {core}"),
    }
}

/// The colour of a component, and its category.
fn category(component: &str) -> (&'static str, &'static str) {
    if component.starts_with("sibling: ") {
        return SIBLING;
    }
    let name = prediction::category(component);
    CATEGORIES.into_iter().find(|it| it.1 == name).unwrap_or(CATEGORIES[3])
}

/// The parts by category, those of a category together; small ones of a category as one.
fn parts(stack: &[StackShare]) -> Vec<Share> {
    let mut parts = Vec::new();
    for (class, name) in CATEGORIES.into_iter().chain([SIBLING]) {
        let mut own: Vec<&StackShare> = stack
            .iter()
            .filter(|it| category(&it.component).0 == class && it.share > 0.0)
            .collect();
        own.sort_by(|one, other| other.share.total_cmp(&one.share));
        let (large, small): (Vec<&StackShare>, Vec<&StackShare>) =
            own.into_iter().partition(|it| it.share >= MIN_SHARE);
        parts.extend(large.into_iter().map(|it| Share {
            name: it.component.trim_start_matches("sibling: ").to_owned(),
            share: it.share,
            class,
        }));
        let rest: f64 = small.iter().map(|it| it.share).sum();
        if rest > 0.0 {
            parts.push(Share { name: format!("{name}, the rest"), share: rest, class });
        }
    }
    parts
}

/// Causes, as the prediction names them.
fn causes(prediction: &Prediction) -> Option<Figure> {
    let first = prediction.beside.first()?;
    let rows: Vec<Bar> = first
        .causes
        .iter()
        .map(|it| {
            let (label, class) = match it.effect {
                Effect::Fills => ("a sibling can use", "c3"),
                Effect::Costs => ("it costs", "c2"),
            };
            Bar {
                label: capital(&prediction::gerund(&it.component)),
                remark: label.to_owned(),
                value: Some(it.share * 100.0),
                figure: corun_stats::percent(it.share),
                class,
                ..Bar::default()
            }
        })
        .collect();
    (!rows.is_empty()).then(|| Figure {
        name: "causes",
        message: format!("What decides how {} shares a core of {}", prediction.program(), prediction.core.model),
        note: "Predicted. What a sibling can use: the share of all issue slots that the program loses alone. What it \
               costs: the share of all that grew beside the sibling."
            .to_owned(),
        plot: Plot::Bars(Bars { rows, axis: "share, %".to_owned(), reference: None }),
        table: None,
    })
}

fn misses(prediction: &Prediction, detail: Detail) -> Option<Table> {
    let rows: Vec<Vec<String>> = prediction
        .beside
        .iter()
        .flat_map(|placement| {
            placement.misses.iter().map(|it| {
                vec![
                    placement.placement.to_string(),
                    it.cache.clone(),
                    figures::three_digits(it.alone),
                    figures::three_digits(it.beside),
                ]
            })
        })
        .collect();
    let header = ["placement", "cache", "alone", "beside siblings"];
    (!rows.is_empty()).then(|| Table::of("Misses in 1000 instructions", &header, rows, detail))
}

/// Who can share a core: each program beside each other, where several predictions have pairs.
pub(crate) fn pairs<'a>(predictions: impl Iterator<Item = &'a Prediction>) -> Option<Figure> {
    let mut pairs: Vec<(String, String, f64)> = Vec::new();
    for it in predictions {
        let title = it.title();
        for placement in &it.beside {
            let (own, other) = match &placement.beside[..] {
                [] => (title.clone(), title.clone()),
                [other] => (title.clone(), shell_words::join(other)),
                _ => continue,
            };
            let time = |slowdown| it.time_beside(slowdown).value;
            pairs.push((own.clone(), other.clone(), time(&placement.slowdown)));
            if let Some(seen) = &placement.slowdown_of_other {
                pairs.push((other, own, time(seen)));
            }
        }
    }
    let names: BTreeSet<&String> = pairs.iter().flat_map(|it| [&it.0, &it.1]).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    if names.len() < 2 {
        return None;
    }
    let cells = names.iter().flat_map(|own| names.iter().map(move |other| (own, other)));
    let cells = cells.map(|(own, other)| {
        let found = pairs.iter().find(|it| it.0 == *own && it.1 == *other)?;
        Some(Cell {
            value: found.2,
            figure: format!("{:.2}", found.2),
            words: format!("{own} takes {:.2} times as long beside {other}", found.2),
            class: "",
        })
    });
    let cells = cells.collect();
    Some(Figure {
        name: "pairs",
        message: "Who can share a core: how much longer a program takes beside another".to_owned(),
        note: format!(
            "Predicted. Each row is a program, each column what runs on the sibling; 1 is no longer than alone, darker is \
             worse. {}.",
            prose::plural(names.len(), "program")
        ),
        plot: Plot::Heat(Heat {
            rows: names.clone(),
            columns: names,
            cells,
            axes: ["the program".to_owned(), "beside".to_owned()],
            what: "time beside the other, over time alone".to_owned(),
            kinds: Vec::new(),
        }),
        table: None,
    })
}
