//! The article of a report over nodes: every node's yield, the figures of each hardware type, the nodes that differ.

use corun_record::{Answer, FigureOverNodes, FleetReport, HardwareType, Metric, Record};
use corun_report::parts::fleet;
use corun_report::{interval, ratio};

use super::common::{origin, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::course::{Course, Panel, Reading};
use crate::plot::{Plot, colour};

pub(super) fn article(record: &Record<FleetReport>, detail: Detail) -> Article {
    let body = &record.body;
    let mut sections = Vec::new();
    let lists = [
        ("Nodes that differ", fleet::odd_nodes(body)),
        ("Nodes without a result", fleet::unmeasured(body)),
        ("Why", fleet::reasons(body)),
    ];
    for of_type in &body.types {
        let mut parts: Vec<Part> = pictures(of_type, detail).map(Part::from).collect();
        for (program, table) in fleet::tables(of_type) {
            parts.push(Part::Table(Table::new(program, table, detail)));
        }
        sections.push(Section::new(fleet::title(of_type), parts));
    }
    for (heading, lines) in lists {
        sections.extend(Section::of_sentences(heading, lines));
    }
    let lines = body.advice.iter().map(|it| (it.tool.clone(), it.line.clone()));
    let lines: Vec<(String, String)> = lines.collect();
    if !lines.is_empty() {
        sections.push(Section::new("What to do", vec![Part::Lines(lines)]));
    }
    sections.extend(trust(&record.caveats, &record.ending));
    let facts = origin(&record.corun_version, &record.started, record.elapsed_s, &record.ending);
    let made = vec![Part::Paragraph(fleet::method(body)), Part::Facts(facts)];
    sections.push(Section::folded("How it was found", made));
    let answers = fleet::answers(body).into_iter();
    Article {
        kind: "A campaign over nodes",
        title: body.campaign.clone().unwrap_or_else(|| "nodes".to_owned()),
        answers: answers.map(|(answer, it)| Statement::new(tone(answer), it)).collect(),
        sections,
        ..Article::default()
    }
}

fn tone(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Helps) => "good",
        Some(Answer::Hurts) => "bad",
        Some(Answer::NoPracticalEffect) => "even",
        Some(Answer::Inconclusive) | None => "open",
    }
}

/// The yield of each node, a picture for each program that has one.
fn pictures(of_type: &HardwareType, detail: Detail) -> impl Iterator<Item = Figure> {
    of_type.programs.iter().filter_map(move |program| {
        let is_yield = |it: &&FigureOverNodes| it.metric == Metric::SmtYield;
        let figure = program.figures.iter().find(is_yield)?;
        Some(picture(&program.workload, figure, detail))
    })
}

fn picture(program: &str, figure: &FigureOverNodes, detail: Detail) -> Figure {
    // Nodes that differ are never left out of the picture.
    let step = figure.values.len().div_ceil(detail.dots.max(1)).max(1);
    let shown = figure.values.iter().enumerate();
    let shown = shown.filter(|(at, it)| it.outlying.is_some() || at % step == 0);
    let points = shown.map(|(at, it)| Reading {
        place: at as f64,
        value: it.estimate.value,
        series: usize::from(it.outlying.is_some()),
        words: format!("{}: {} ({})", it.node, ratio(&it.estimate), interval(&it.estimate)),
    });
    let has_odd = figure.values.iter().any(|it| it.outlying.is_some());
    let names = ["nodes alike", "outlying nodes"].into_iter().take(1 + usize::from(has_odd));
    let rows = figure.values.iter().map(|it| {
        let odd = it.outlying.map(|odd| format!("{:.1} deviations off", odd.deviations.abs()));
        vec![
            it.node.clone(),
            ratio(&it.estimate),
            interval(&it.estimate),
            it.runs.to_string(),
            odd.unwrap_or_default(),
        ]
    });
    let header = ["node", "yield", "interval", "runs", "outlying"];
    let message = match (&figure.mean, &figure.further_node) {
        (Some(mean), Some(further)) => format!(
            "The yield of {program} is {} over {} nodes; a further node is expected at {}",
            ratio(mean),
            mean.blocks,
            interval(further)
        ),
        _ => format!("The yield of {program} on each node"),
    };
    Figure {
        name: "nodes",
        message,
        note: "Each mark is a node, in the order of their names.".to_owned(),
        plot: Plot::Course(Course {
            panels: vec![Panel { title: "SMT yield".to_owned(), points: points.collect() }],
            series: names.enumerate().map(|(at, name)| (colour(at), name.to_owned())).collect(),
            across: "nodes, in the order of their names".to_owned(),
        }),
        table: Some(Table::of(
            format!("The yield of {program} by node"),
            &header,
            rows.collect(),
            detail,
        )),
    }
}
