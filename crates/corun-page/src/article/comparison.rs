//! The articles of a comparison of runs, and of a workload's figures over its runs.

use corun_record::{ChangeAnswer, ComparedObservation, Record, RunComparison, Trend, TrendSeries};
use corun_report::parts::{comparison, figures, trend};
use corun_report::{interval, ratio};

use super::common::{capital, limits, machine, origin, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::bars::{Bar, Bars};
use crate::plot::course::{Course, Panel, Reading};
use crate::plot::{Plot, colour};

pub(super) fn article(record: &Record<RunComparison>, detail: Detail) -> Article {
    let body = &record.body;
    let mut sections = Vec::new();
    if !body.differences.is_empty() {
        let table = Table::new("Facts that differ", comparison::differences(body), detail);
        sections.push(Section::new("What differs beside the figures", vec![Part::Table(table)]));
    }
    sections.extend(ratios(body, detail).map(|it| Section::new("In pictures", vec![it.into()])));
    let tables: Vec<Part> = comparison::tables(body)
        .into_iter()
        .map(|(title, table)| Part::Table(Table::new(title.trim_end_matches(':'), table, detail)))
        .collect();
    if !tables.is_empty() {
        sections.push(Section::new("In figures", tables));
    }
    sections.extend(Section::of_sentences("Not compared", comparison::not_compared(body)));
    sections.extend(trust(&record.caveats, &record.ending));
    let mut made = vec![Part::Paragraph(capital(&comparison::method(body)))];
    let facts = origin(&record.corun_version, &record.started, record.elapsed_s, &record.ending);
    made.push(Part::Facts(facts));
    sections.push(Section::folded("How it was compared", made));
    sections.extend(machine(record.machine.as_ref()));
    let names: Vec<&str> = body.runs.iter().map(|run| run.name.as_str()).collect();
    let title = match &names[..] {
        [base, others @ ..] => format!("{} against {base}", others.join(", ")),
        [] => "no runs".to_owned(),
    };
    let mut answers: Vec<Statement> = comparison::answers(body)
        .into_iter()
        .map(|(answer, sentence)| Statement::new(tone(answer), sentence))
        .collect();
    answers.extend(body.gate.as_ref().map(|gate| {
        Statement::new(if gate.passes { "good" } else { "bad" }, comparison::gate(gate))
    }));
    Article { kind: "Comparison of runs", title, answers, sections, ..Article::default() }
}

fn tone(answer: ChangeAnswer) -> &'static str {
    match answer {
        ChangeAnswer::Better => "good",
        ChangeAnswer::Worse => "bad",
        ChangeAnswer::Higher | ChangeAnswer::Lower | ChangeAnswer::NoChange => "even",
        ChangeAnswer::Inconclusive => "open",
    }
}

/// Each figure of a run over that of the base.
fn ratios(body: &RunComparison, detail: Detail) -> Option<Figure> {
    let rows = body.observations.iter().filter(|row| !row.restates);
    let bar = |row: &ComparedObservation| {
        let run = body.runs.get(row.run as usize).map_or("", |run| run.name.as_str());
        let is_sensible = figures::is_sensible(&row.ratio);
        Bar {
            label: format!("{} of {}", comparison::name(row), row.arm),
            remark: match body.runs.len() {
                0..=2 => row.answer.name().to_owned(),
                _ => format!("{run}: {}", row.answer.name()),
            },
            value: is_sensible.then_some(row.ratio.value),
            limits: limits(&row.ratio),
            figure: match is_sensible {
                true => format!("{} ({})", ratio(&row.ratio), interval(&row.ratio)),
                false => interval(&row.ratio),
            },
            class: match row.answer {
                ChangeAnswer::Better => "c3",
                ChangeAnswer::Worse => "c2",
                ChangeAnswer::Higher | ChangeAnswer::Lower => "c1",
                ChangeAnswer::NoChange | ChangeAnswer::Inconclusive => "c6",
            },
            ..Bar::default()
        }
    };
    let rows: Vec<Bar> = rows.take(detail.rows / 8 + 1).map(bar).collect();
    (!rows.is_empty()).then(|| Figure {
        name: "changes",
        message: "Each figure of the run, over that of the base".to_owned(),
        note: format!(
            "1 is no change; line: the interval, {} for all together. Whether more is better, the answer below each \
             name says.",
            corun_stats::percent(body.confidence)
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "run / base".to_owned(),
            reference: Some((1.0, "no change".to_owned())),
        }),
        table: None,
    })
}

pub(super) fn over_time(record: &Record<Trend>, detail: Detail) -> Article {
    let body = &record.body;
    let pictures =
        body.series.iter().take(detail.rows / 8 + 1).map(|it| course(body, it, detail).into());
    let mut sections = vec![Section::new("In pictures", pictures.collect())];
    sections.extend(trust(&record.caveats, &record.ending));
    let facts = origin(&record.corun_version, &record.started, record.elapsed_s, &record.ending);
    let made = vec![Part::Paragraph(trend::note(body)), Part::Facts(facts)];
    sections.push(Section::folded("How changes are found", made));
    let answer = |series: &TrendSeries| {
        let last = series.changes.last().map_or(ChangeAnswer::NoChange, |it| it.answer);
        Statement::new(tone(last), capital(&trend::answer(series)))
    };
    Article {
        kind: "Figures over time",
        title: body.workload.clone(),
        answers: body.series.iter().map(answer).collect(),
        sections,
        ..Article::default()
    }
}

/// A series in the order of its runs; each level has a colour and a mark of its own.
fn course(body: &Trend, series: &TrendSeries, detail: Detail) -> Figure {
    let value = |at: usize| {
        let estimate = &series.points[at].estimate;
        trend::quantity(series.metric, estimate, &series.unit).replace('\u{a0}', " ")
    };
    let level = |at: usize| series.changes.iter().filter(|it| it.point as usize <= at).count();
    let started = |at: usize| {
        let run = body.runs.get(series.points[at].run as usize);
        run.map_or("", |run| run.started.as_str())
    };
    let largest = series.points.iter().map(|it| it.estimate.value).fold(0.0, f64::max);
    let (factor, unit) = scale(largest, &series.unit);
    let points = series.points.iter().enumerate().map(|(at, point)| Reading {
        place: at as f64,
        value: point.estimate.value * factor,
        series: level(at),
        words: format!("{}: {}", started(at), value(at)),
    });
    let rows = (0..series.points.len()).map(|at| {
        let changed =
            body.runs.get(series.points[at].run as usize).map(|run| run.changed.join("; "));
        let is_new = series.changes.iter().find(|it| it.point as usize == at);
        let is_new = is_new.map_or_else(String::new, trend::change);
        vec![started(at).to_owned(), value(at), is_new, changed.unwrap_or_default()]
    });
    let header = ["run", "value", "change of level", "what else was new"];
    let name = trend::title(series);
    Figure {
        name: "trend",
        message: capital(&trend::answer(series)),
        note: "Each mark is a run, the oldest at the left. A new colour and mark is a new level."
            .to_owned(),
        plot: Plot::Course(Course {
            panels: vec![Panel { title: format!("{name}{unit}"), points: points.collect() }],
            series: (0..=series.changes.len())
                .map(|at| (colour(at), format!("level {}", at + 1)))
                .collect(),
            across: "runs, in the order of their start".to_owned(),
        }),
        table: Some(Table::of(capital(&name), &header, rows.collect(), detail)),
    }
}

/// By what values are multiplied so that the largest has few digits, and the unit that they then have.
fn scale(largest: f64, unit: &str) -> (f64, String) {
    let of = |factor: f64, prefix: &str| (factor, format!(", {prefix}{}", figures::unit(unit)));
    match (unit, largest) {
        ("1", _) => (1.0, String::new()),
        ("s", ..1e-6) => of(1e9, "n"),
        ("s", ..1e-3) => of(1e6, "µ"),
        ("s", ..1.0) => of(1e3, "m"),
        (_, 1e9..) => of(1e-9, "G "),
        (_, 1e6..) => of(1e-6, "M "),
        (_, 1e4..) => of(1e-3, "k "),
        _ => of(1.0, ""),
    }
}
