//! The article of a bench: its workloads side by side, and the memory hierarchy where it was swept.

use std::collections::BTreeMap;

use corun_record::{Bench, Metric, Run, common_caveats};
use corun_report::parts::{bench, figures, prose};
use corun_report::{interval, ratio};

use super::common::{level, limits, machine, origin, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::bars::{Bar, Bars};
use crate::plot::lines::{Lines, Point, Series};
use crate::plot::{Plot, colour};

pub(super) fn article(of: &Bench, detail: Detail) -> Article {
    let mut pictures: Vec<Part> = hierarchy(of).into_iter().map(Part::from).collect();
    if pictures.is_empty() {
        pictures.extend(compared(of).map(Part::from));
        for run in of.runs.iter().take(detail.rows / 8 + 1) {
            pictures.push(super::run::speed(run, detail.shared_by(of.runs.len())).into());
        }
    }
    let mut sections = vec![Section::new("In pictures", pictures)];
    let mut table = bench::table(of);
    // A row that is sorted elsewhere keeps its workload.
    for row in 1..table.rows.len() {
        if table.rows[row][0].is_empty() {
            table.rows[row][0] = table.rows[row - 1][0].clone();
        }
    }
    let table = Table::new("Each workload in each placement", table, detail);
    sections.push(Section::new("In figures", vec![Part::Table(table)]));
    let missing = of.not_possible.iter().map(|it| {
        let name = bench::name(&it.workload, &it.parameters, of);
        format!("{name}: {}. {}", it.reason, it.next_step)
    });
    let mut not_possible: Vec<String> = Vec::new();
    for line in of.runs.iter().flat_map(prose::not_possible).chain(missing) {
        if !not_possible.contains(&line) {
            not_possible.push(line);
        }
    }
    sections.extend(Section::of_sentences("Not possible here", not_possible));
    let mut caveats = of.caveats.clone();
    if caveats.is_empty() {
        caveats = common_caveats(&of.runs);
    }
    sections.extend(trust(&caveats, &of.ending));
    sections.extend(
        Section::of_sentences("Of single workloads", bench::caveats(of))
            .map(|it| Section { is_folded: true, ..it }),
    );
    let facts = origin(&of.corun_version, &of.started, of.elapsed_s, &of.ending);
    sections.push(Section::folded("How it was made", vec![Part::Facts(facts)]));
    sections.extend(machine(of.machine.as_ref().or(of.runs.first().map(|it| &it.machine))));
    let mut names: Vec<&str> = of.runs.iter().map(|it| it.workload.name.as_str()).collect();
    names.dedup();
    let is_swept = !hierarchy(of).is_empty();
    Article {
        kind: "Bench",
        title: if is_swept { "The memory hierarchy".to_owned() } else { names.join(", ") },
        answers: if is_swept { answers_by_size(of) } else { answers(of) },
        sections,
        ..Article::default()
    }
}

/// The headline of each workload.
fn answers(of: &Bench) -> Vec<Statement> {
    let headline = |run: &Run| {
        let first = super::run::answers(run).into_iter().next()?;
        let name = bench::name(&run.workload.name, &run.workload.parameters, of);
        Some(Statement { sentence: format!("{name}: {}", first.sentence), ..first })
    };
    const MOST: usize = 8;
    let mut answers: Vec<Statement> = of.runs.iter().filter_map(headline).take(MOST).collect();
    let rest = of.runs.len().saturating_sub(answers.len());
    if rest > 0 {
        answers.push(Statement::new("even", format!("{rest} more workloads stand in the table.")));
    }
    answers
}

/// Costs of the smallest and the largest data of each kind of access.
fn answers_by_size(of: &Bench) -> Vec<Statement> {
    let of_figure = |figure: Figure| {
        let Plot::Lines(lines) = figure.plot else { return None };
        let (what, unit) = match figure.name {
            "latency" => ("A load takes", "ns"),
            _ => ("In a second move", "GB"),
        };
        let at = |point: &Point| {
            format!(
                "{} {unit} at {}",
                figures::three_digits(point.y),
                figures::size_text(point.x as u64)
            )
        };
        let ends = lines.series.iter().filter_map(|series| {
            let (first, last) = (series.points.first()?, series.points.last()?);
            Some(format!("{}, {} ({})", at(first), at(last), series.name))
        });
        let ends: Vec<String> = ends.collect();
        Some(Statement::new("even", format!("{what} {}.", ends.join("; "))))
    };
    hierarchy(of).into_iter().filter_map(of_figure).collect()
}

/// The SMT yield, or what there is, of each workload.
fn compared(of: &Bench) -> Option<Figure> {
    let rows = of.runs.iter().filter_map(|run| {
        let verdict = run.verdicts.first()?;
        let seen = run
            .observations
            .iter()
            .find(|it| it.metric == verdict.metric && it.arm == verdict.arm && it.unit == "1")?;
        Some(Bar {
            label: bench::name(&run.workload.name, &run.workload.parameters, of),
            remark: format!(
                "{}: {} / {}",
                seen.metric.name(),
                seen.arm,
                seen.against.as_deref().unwrap_or_default()
            ),
            value: figures::is_sensible(&seen.estimate).then_some(seen.estimate.value),
            limits: limits(&seen.estimate),
            figure: format!("{} ({})", ratio(&seen.estimate), interval(&seen.estimate)),
            class: "c1",
            ..Bar::default()
        })
    });
    let rows: Vec<Bar> = rows.collect();
    let first = of.runs.first()?;
    (rows.len() > 1).then(|| Figure {
        name: "workloads",
        message: "What one placement is worth against another, for each workload".to_owned(),
        note: format!(
            "Line: the interval; 1 is no difference. {}.",
            prose::machine(&first.machine)
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "ratio".to_owned(),
            reference: Some((1.0, "no difference".to_owned())),
        }),
        table: None,
    })
}

/// The memory hierarchy, a picture for latencies and one for bandwidths: none where the bench did not vary
/// the size of the data.
pub(crate) fn hierarchy(of: &Bench) -> Vec<Figure> {
    let latency = sweep(of, "latency");
    let bandwidth = sweep(of, "bandwidth");
    [latency, bandwidth].into_iter().flatten().collect()
}

/// Sizes in bytes, each with what was measured there.
type Points = BTreeMap<u64, (f64, Option<[f64; 2]>, String)>;

fn sweep(of: &Bench, kind: &str) -> Option<Figure> {
    let is_latency = kind == "latency";
    let mut lines: BTreeMap<String, Points> = BTreeMap::new();
    for run in &of.runs {
        let parameter = |name: &str| run.workload.parameters.get(name);
        let Some(size) = parameter("size").and_then(|it| it.parse::<u64>().ok()) else { continue };
        let (name, touched) = match (
            is_latency,
            run.workload.name.as_str(),
            parameter("stride"),
            parameter("kernel"),
        ) {
            (true, "chase", Some(stride), _) => (
                format!(
                    "loads {} apart",
                    stride.parse().map_or(stride.clone(), figures::size_text)
                ),
                size,
            ),
            (false, "stream", _, Some(kernel)) => {
                (kernel.clone(), if kernel == "copy" { 2 * size } else { size })
            }
            _ => continue,
        };
        for arm in run.arms.iter().filter(|arm| arm.twin_of.is_none()) {
            let Some(seen) = run.observation(Metric::Throughput, &arm.id) else { continue };
            let estimate = match is_latency {
                true => seen.estimate.under(1e9 * f64::from(arm.workers)),
                false => seen.estimate.scaled(1e-9),
            };
            let words = format!(
                "{name}, {}: {} {}",
                figures::size_text(touched),
                figures::three_digits(estimate.value),
                if is_latency { "ns" } else { "GB/s" }
            );
            let name = match run.arms.iter().filter(|it| it.twin_of.is_none()).count() {
                1 => name.clone(),
                _ => format!("{name}, {}", arm.id),
            };
            let point = (estimate.value, limits(&estimate), words);
            lines.entry(name).or_default().insert(touched, point);
        }
    }
    let sizes: Vec<u64> = lines.values().flat_map(|it| it.keys().copied()).collect();
    let first = of.runs.first()?;
    if lines.values().all(|it| it.len() < 3) {
        return None;
    }
    let smallest = sizes.iter().min()?.next_power_of_two();
    let largest = *sizes.iter().max()?;
    let named = std::iter::successors(Some(smallest), |size| size.checked_mul(2))
        .take_while(|size| *size <= largest)
        .map(|size| (size as f64, figures::size_text(size)))
        .collect();
    let level = first.observations.first().map_or_else(String::new, |it| level(&it.estimate));
    let series = lines.into_iter().enumerate().map(|(index, (name, points))| Series {
        name,
        class: colour(index),
        points: points
            .into_iter()
            .map(|(size, (y, limits, words))| Point { x: size as f64, y, limits, words })
            .collect(),
        is_ideal: false,
    });
    let (message, upwards) = match is_latency {
        true => (
            "How long a load takes, by the size of the data",
            "nanoseconds a load (lower is better)",
        ),
        false => (
            "How many bytes move in a second, by the size of the data",
            "GB/s of all workers (higher is better)",
        ),
    };
    Some(Figure {
        name: if is_latency { "latency" } else { "bandwidth" },
        message: message.to_owned(),
        note: format!(
            "Each step up is a cache that the data no longer fit into. Line at a mark: its {level} interval. {}.",
            prose::machine(&first.machine)
        ),
        plot: Plot::Lines(Lines {
            series: series.collect(),
            across: "size of the data".to_owned(),
            upwards: upwards.to_owned(),
            is_logarithmic: true,
            named,
        }),
        table: None,
    })
}
