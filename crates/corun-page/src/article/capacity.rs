//! The article of a capacity curve: utilisation as the kernel reports it against the capacity that is used.

use corun_record::{CapacityCurve, CapacityPoint, Filling, Record, Source};
use corun_report::parts::{capacity, prose};
use corun_stats::percent;

use super::common::{capital, level, limits, machine, origin, trust};
use super::run::course_of;
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::Plot;
use crate::plot::lines::{Lines, Point, Series};

pub(super) fn article(curve: &Record<CapacityCurve>, detail: Detail) -> Article {
    let body = &curve.body;
    let mut pictures: Vec<Part> = figure(curve).into_iter().map(Part::from).collect();
    if !body.levels.is_empty() {
        let table = Table::new("The capacity that is used", capacity::levels(body), detail);
        pictures.push(Part::Table(table));
        pictures.push(Part::Paragraph(capacity::legend(body)));
    }
    pictures.extend(course_of(&body.arms, &body.samples, detail).map(Part::from));
    let mut sections = vec![Section::new("In pictures", pictures)];
    sections.extend(Section::of_sentences("Why", body.reasons.clone()));
    let lines = body.advice.iter().map(|it| (it.tool.clone(), it.line.clone()));
    let lines: Vec<(String, String)> = lines.collect();
    if !lines.is_empty() {
        sections.push(Section::new("What to do", vec![Part::Lines(lines)]));
    }
    sections.extend(trust(&curve.caveats, &curve.ending));
    let how = match body.source {
        Source::Predicted => "How it was predicted",
        Source::Measured | Source::Published => "How it was measured",
    };
    sections.push(Section::folded(how, vec![Part::List(capacity::course(curve))]));
    let mut facts = vec![("what was run".to_owned(), prose::work(&body.workload))];
    if !body.workload.command.is_empty() {
        facts.push(("command".to_owned(), shell_words::join(&body.workload.command)));
    }
    facts.extend(origin(&curve.corun_version, &curve.started, curve.elapsed_s, &curve.ending));
    facts.extend(body.design.as_ref().map(|it| ("seed".to_owned(), it.seed.to_string())));
    let facts = facts.into_iter().map(|(name, value)| (capital(&name), value)).collect();
    sections.push(Section::folded("The exact command", vec![Part::Facts(facts)]));
    sections.extend(machine(curve.machine.as_ref()));
    Article {
        kind: "How much capacity is used",
        title: body.workload.name.clone(),
        answers: vec![Statement::new(
            if body.answer.is_some() { "good" } else { "open" },
            capacity::answer(curve),
        )],
        sections,
        ..Article::default()
    }
}

/// Both orders of filling, and what the kernel's count would have; none without points.
pub(crate) fn figure(curve: &Record<CapacityCurve>) -> Option<Figure> {
    let body = &curve.body;
    let first = &body.orders.first()?.points.first()?.used;
    let hundred = |share: f64| share * 100.0;
    let point = |filling: Filling, it: &CapacityPoint| Point {
        x: hundred(it.nominal),
        y: hundred(it.used.value),
        limits: limits(&it.used).map(|it| it.map(hundred)),
        words: format!(
            "{}, {} busy: {} of the capacity",
            filling.name(),
            it.busy,
            capacity::with_interval(&it.used)
        ),
    };
    let mut series: Vec<Series> = Vec::new();
    // Without siblings both orders are the same.
    let orders = body.orders.iter().take(body.smt_width.clamp(1, 2) as usize);
    for (order, class) in orders.zip(["c1", "c2"]) {
        let nothing = Point { words: "nothing busy".to_owned(), ..Point::default() };
        let points = order.points.iter().map(|it| point(order.filling, it));
        series.push(Series {
            name: match order.filling {
                _ if body.smt_width < 2 => "one core after the other",
                Filling::CoresFirst => "cores first: as the kernel fills",
                Filling::SiblingsFirst => "siblings first: all of a core before the next",
            }
            .to_owned(),
            points: std::iter::once(nothing).chain(points).collect(),
            class,
            ..Series::default()
        });
    }
    series.push(Series {
        name: "as reported".to_owned(),
        points: [0.0, 100.0].map(|it| Point { x: it, y: it, ..Point::default() }).to_vec(),
        class: "c6",
        is_ideal: true,
    });
    let intervals = match body.source {
        Source::Predicted => "that of the predicted yield".to_owned(),
        Source::Measured | Source::Published => format!("its {} interval", level(first)),
    };
    let named = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0].map(|it| (it, percent(it / 100.0)));
    Some(Figure {
        name: "capacity",
        message: capacity::answer(curve),
        note: format!(
            "The work done in a second with so many logical CPUs busy, over that with all of them busy. Line at a mark: {intervals}. \
             The dashed line is what the kernel's count takes for used. Run: {}; {}.",
            prose::work(&body.workload),
            curve.machine.as_ref().map(prose::machine).unwrap_or_default()
        ),
        plot: Plot::Lines(Lines {
            series,
            across: "reported utilisation, %".to_owned(),
            upwards: "capacity used, %".to_owned(),
            named: named.to_vec(),
            ..Lines::default()
        }),
        table: None,
    })
}
