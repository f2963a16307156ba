//! The article of simulated placements: what one is worth against another, and where the cycles go.

use std::collections::BTreeMap;

use corun_record::{PlacedWorker, Placements, Record, SimulatedPlacement};
use corun_report::parts::figures;

use super::common::{capital, machine, origin, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::Plot;
use crate::plot::bars::{Bar, Bars};
use crate::plot::places::{PlacedArm, Places};

pub(super) fn article(record: &Record<Placements>, detail: Detail) -> Article {
    let body = &record.body;
    let mut pictures: Vec<Part> = comparisons(body).map(Part::from).into_iter().collect();
    pictures.extend(places(body).map(Part::from));
    let rows = body.comparisons.iter().map(|it| {
        vec![
            it.metric.name().to_owned(),
            format!("{} / {}", it.placement, it.against),
            figures::three_digits(it.mean),
            figures::three_digits(it.low),
            figures::three_digits(it.high),
        ]
    });
    let header = ["metric", "placements", "mean", "lowest phase", "highest phase"];
    let comparisons = Table::of("Placements against each other", &header, rows.collect(), detail);
    let rows = body
        .placements
        .iter()
        .flat_map(|placement| placement.workers.iter().map(move |it| row(placement, it, body)));
    let header =
        ["placement", "worker", "core", "hardware thread", "instructions", "cycles", "IPC"];
    let workers = Table::of("Each worker", &header, rows.collect(), detail);
    let mut sections = vec![
        Section::new("In pictures", pictures),
        Section::new("In figures", vec![Part::Table(comparisons), Part::Table(workers)]),
    ];
    let refused = body.refused.iter().map(|it| it.reason.clone()).collect();
    sections.extend(Section::of_sentences("Refused", refused));
    if !body.resources.is_empty() {
        let rows = body.resources.iter().map(|it| {
            let yields = it.smt_yield.iter().map(|(policy, value)| format!("{policy} {value:.2}"));
            let assumed = if it.is_assumed { " (assumed)" } else { "" };
            vec![
                it.resource.clone(),
                format!("{}{assumed}", it.policy),
                yields.collect::<Vec<_>>().join(", "),
            ]
        });
        let header = ["resource", "shared as", "SMT yield by other policies"];
        let table = Table::of("Resources shared otherwise", &header, rows.collect(), detail);
        sections.push(Section::new("What if siblings shared otherwise", vec![Part::Table(table)]));
    }
    sections.extend(trust(&record.caveats, &record.ending));
    let mut facts = vec![
        ("core model".to_owned(), format!("{} ({})", body.core.model, body.core.title)),
        ("workers".to_owned(), body.workers.join("; ")),
    ];
    facts.extend(body.core.settings.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts.extend(origin(&record.corun_version, &record.started, record.elapsed_s, &record.ending));
    sections.push(Section::folded("How it was made", vec![Part::Facts(facts)]));
    sections.extend(machine(record.machine.as_ref()));
    Article {
        kind: "Placements, simulated",
        title: body.workers.join(", "),
        answers: answers(body),
        sections,
        ..Article::default()
    }
}

fn answers(body: &Placements) -> Vec<Statement> {
    let sentence = |it: &corun_record::PlacementComparison| {
        format!(
            "{} of {} against {} on {}: {:.2} ({:.2} to {:.2} by which parts of the programs meet).",
            capital(it.metric.name()),
            it.placement,
            it.against,
            body.core.model,
            it.mean,
            it.low,
            it.high
        )
    };
    body.comparisons.iter().map(|it| Statement::new("even", sentence(it))).collect()
}

fn comparisons(body: &Placements) -> Option<Figure> {
    let rows: Vec<Bar> = body
        .comparisons
        .iter()
        .map(|it| Bar {
            label: it.metric.name().to_owned(),
            remark: format!("{} / {}", it.placement, it.against),
            value: Some(it.mean),
            limits: (it.low < it.high).then_some([it.low, it.high]),
            figure: format!("{:.2} ({:.2} to {:.2})", it.mean, it.low, it.high),
            class: "c1",
            ..Bar::default()
        })
        .collect();
    (!rows.is_empty()).then(|| Figure {
        name: "ratios",
        message: "What one placement is worth against another".to_owned(),
        note: format!(
            "Simulated on {} ({}): {}. Line: the range over phases, in which other parts of the programs meet.",
            body.core.model,
            body.core.title,
            body.workers.join(", ")
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "ratio".to_owned(),
            reference: Some((1.0, "no difference".to_owned())),
        }),
        table: None,
    })
}

fn places(body: &Placements) -> Option<Figure> {
    let all = || body.placements.iter().flat_map(|it| &it.workers);
    let cores = all().map(|it| it.core).max()? + 1;
    let width = all().map(|it| it.logical_cpu).max()? + 1;
    let number = |core: usize, cpu: usize| (core * width + cpu) as u32;
    let row = |placement: &SimulatedPlacement| {
        let mut workers = BTreeMap::new();
        for it in &placement.workers {
            *workers.entry(number(it.core, it.logical_cpu)).or_insert(0) += 1;
        }
        PlacedArm { label: placement.placement.to_string(), workers, ..PlacedArm::default() }
    };
    Some(Figure {
        name: "placement",
        message: "Where the workers of each placement ran".to_owned(),
        note: format!("Simulated cores of {}.", body.core.model),
        plot: Plot::Places(Places {
            cores: (0..cores)
                .map(|core| (0..width).map(|cpu| number(core, cpu)).collect())
                .collect(),
            rows: body.placements.iter().map(row).collect(),
        }),
        table: None,
    })
}

fn row(placement: &SimulatedPlacement, worker: &PlacedWorker, body: &Placements) -> Vec<String> {
    let cycles = worker.cycles.iter().sum::<f64>() / worker.cycles.len().max(1) as f64;
    vec![
        placement.placement.to_string(),
        body.workers.get(worker.worker).cloned().unwrap_or_default(),
        worker.core.to_string(),
        worker.logical_cpu.to_string(),
        corun_report::grouped(worker.instructions),
        format!("{cycles:.0}"),
        format!("{:.2}", worker.instructions as f64 / cycles.max(1.0)),
    ]
}
