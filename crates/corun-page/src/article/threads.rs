//! The article of a sweep over numbers of workers: workers against work done, with the ideal line.

use corun_record::{Candidate, Goal, Metric, Placement, Record, Standing, ThreadSweep};
use corun_report::parts::{figures, prose, threads};
use corun_report::{interval, joules, ratio, seconds};

use super::common::{capital, level, limits, machine, origin, title, trust};
use super::run::{cores, course_of, placed_arm};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::bars::{Bar, Bars};
use crate::plot::lines::{Lines, Point, Series};
use crate::plot::places::Places;
use crate::plot::{Plot, colour};

pub(super) fn article(sweep: &Record<ThreadSweep>, detail: Detail) -> Article {
    let body = &sweep.body;
    let mut pictures: Vec<Part> = Vec::new();
    pictures.extend(scaling(sweep).map(Part::from));
    pictures.push(bars(sweep, detail).into());
    let arms: Vec<_> = body.candidates.iter().map(|it| it.arm.clone()).collect();
    pictures.extend(chosen_place(sweep).map(Part::from));
    pictures.extend(course_of(&arms, &body.samples, detail).map(Part::from));
    let lines = body.advice.iter().filter(|it| it.fits);
    let lines: Vec<(String, String)> = lines.map(|it| (it.tool.clone(), it.line.clone())).collect();
    let mut sections = vec![Section::new("In pictures", pictures)];
    if !lines.is_empty() {
        sections.push(Section::new("What to do", vec![Part::Lines(lines)]));
    }
    sections.extend(Section::of_sentences("Limits of the CPUs", body.limits.clone()));
    sections.extend(Section::of_sentences("Not known here", body.unknown.clone()));
    sections.extend(Section::of_sentences("What did not run", threads::failures(body)));
    sections.extend(trust(&sweep.caveats, &sweep.ending));
    sections.push(Section::folded("How it was measured", vec![Part::List(threads::course(sweep))]));
    let mut facts = vec![("what was run".to_owned(), prose::work(&body.workload))];
    if !body.workload.command.is_empty() {
        facts.push(("command".to_owned(), shell_words::join(&body.workload.command)));
    }
    facts.extend(origin(&sweep.corun_version, &sweep.started, sweep.elapsed_s, &sweep.ending));
    facts.push(("seed".to_owned(), body.design.seed.to_string()));
    let facts = facts.into_iter().map(|(name, value)| (capital(&name), value)).collect();
    sections.push(Section::folded("The exact command", vec![Part::Facts(facts)]));
    sections.extend(machine(sweep.machine.as_ref()));
    Article {
        kind: "How many threads",
        title: title(&body.workload),
        answers: vec![Statement::new(tone(sweep), threads::answer(sweep))],
        sections,
        ..Article::default()
    }
}

fn tone(sweep: &Record<ThreadSweep>) -> &'static str {
    match threads::is_answered(&sweep.body) {
        true => "good",
        false => "open",
    }
}

fn subject(sweep: &Record<ThreadSweep>) -> String {
    let machine = sweep.machine.as_ref().map(prose::machine).unwrap_or_default();
    format!("Run: {}; {machine}", prose::work(&sweep.body.workload))
}

/// The placement without its number, which a line has in common.
fn family(placement: Placement) -> &'static str {
    match placement {
        Placement::Single | Placement::Spread(_) => "spread: one worker a core",
        Placement::Full(_) => "full: on all siblings of the same cores",
        Placement::Packed(_) => "packed: on all siblings of as few cores as hold them",
        Placement::Scatter(_) => "scatter: a second worker a core when each has one",
        Placement::Stacked => "stacked: time-sliced",
        Placement::Free(_) => "free: placed by the kernel",
        Placement::Cpus => "on the logical CPUs that were listed",
    }
}

/// Workers against the work done in a second, and what as many times one worker would do.
fn scaling(sweep: &Record<ThreadSweep>) -> Option<Figure> {
    let body = &sweep.body;
    let of = |candidate: &Candidate| {
        let seen = body.observation(Metric::Throughput, &candidate.arm.id)?;
        Some((candidate.arm.workers, seen.estimate))
    };
    let largest = body.candidates.iter().filter_map(of).map(|it| it.1.value).fold(0.0, f64::max);
    let scale = figures::RateScale::up_to(largest, &body.workload.operation);
    let mut series: Vec<Series> = Vec::new();
    for candidate in &body.candidates {
        let Some((workers, seen)) = of(candidate) else { continue };
        let name = family(candidate.arm.placement);
        let index = series.iter().position(|it| it.name == name).unwrap_or_else(|| {
            series.push(Series {
                name: name.to_owned(),
                class: colour(series.len()),
                ..Series::default()
            });
            series.len() - 1
        });
        series[index].points.push(Point {
            x: f64::from(workers),
            y: seen.value * scale.factor,
            limits: limits(&seen).map(|it| it.map(|it| it * scale.factor)),
            words: format!(
                "{}: {} {} {}",
                candidate.arm.id,
                scale.show(seen.value),
                scale.unit,
                figures::half_width(&seen)
            ),
        });
    }
    for line in &mut series {
        line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    }
    let (least, seen) = body.candidates.iter().filter_map(of).min_by_key(|it| it.0)?;
    let most = body.candidates.iter().map(|it| it.arm.workers).max()?;
    let each = seen.value * scale.factor / f64::from(least);
    let ideal = [0.0, f64::from(most)].map(|x| Point { x, y: each * x, ..Point::default() });
    series.push(Series {
        name: format!(
            "ideal: as much for each as {} alone",
            prose::plural(least as usize, "worker")
        ),
        points: ideal.to_vec(),
        class: "c6",
        is_ideal: true,
    });
    let unit = scale.unit.replace('\u{a0}', " ");
    Some(Figure {
        name: "workers",
        message: threads::answer(sweep),
        note: format!(
            "Work done in a second by so many workers, in each placement; higher is better. Line at a mark: its \
             {} interval. The dashed line is what workers would do that do not disturb each other. {}.",
            level(&seen),
            subject(sweep)
        ),
        plot: Plot::Lines(Lines {
            series,
            across: "workers".to_owned(),
            upwards: format!("work of all workers, {unit}"),
            ..Lines::default()
        }),
        table: None,
    })
}

fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "work done in a second",
        Goal::Latency => "speed of a run or request",
        Goal::Energy => "work done with a joule",
    }
}

/// The answer, and each candidate beside the chosen one.
pub(crate) fn candidates(sweep: &Record<ThreadSweep>) -> Figure {
    Figure { message: threads::answer(sweep), ..bars(sweep, Detail::FULL) }
}

/// Each candidate beside the chosen one.
fn bars(sweep: &Record<ThreadSweep>, detail: Detail) -> Figure {
    let body = &sweep.body;
    let is_answered = threads::is_answered(body);
    let mut table = Vec::new();
    let rows = body.candidates.iter().map(|candidate| {
        let arm = candidate.arm.id.as_str();
        let of = |metric| body.observation(metric, arm).map(|it| it.estimate);
        let score = of(Metric::RelativeToChosen);
        let is_chosen = candidate.standing == Standing::Chosen;
        let standing = threads::standing(candidate, is_answered);
        let figure = match score {
            Some(score) if figures::is_sensible(&score) => {
                format!("{} ({})", ratio(&score), interval(&score))
            }
            _ if is_chosen => "1.00".to_owned(),
            _ if candidate.screening.is_some() && candidate.blocks == 0 => "one run".to_owned(),
            _ if candidate.blocks < 2 => "too few blocks".to_owned(),
            _ => "too uncertain".to_owned(),
        };
        let text = |value: Option<f64>, form: fn(f64) -> String| {
            value.map_or_else(|| "-".to_owned(), form)
        };
        table.push(vec![
            threads::label(candidate),
            candidate.arm.workers.to_string(),
            figures::list(&candidate.arm.cpus),
            figure.clone(),
            text(of(Metric::Makespan).map(|it| it.value), seconds),
            text(of(Metric::Latency).map(|it| it.value), seconds),
            text(of(Metric::EnergyPerOperation).map(|it| it.value), joules),
            standing.clone(),
        ]);
        Bar {
            label: threads::label(candidate),
            remark: standing,
            value: if is_chosen { Some(1.0) } else { score.map(|it| it.value) },
            limits: score.as_ref().and_then(limits).filter(|_| !is_chosen),
            figure,
            class: if is_chosen { "c3" } else { "c6" },
            ..Bar::default()
        }
    });
    let rows = rows.collect();
    let header = [
        "candidate",
        "workers",
        "CPUs",
        "beside the chosen one",
        "time",
        "p99",
        "energy",
        "standing",
    ];
    Figure {
        name: "candidates",
        message: "Each number of workers beside the chosen one".to_owned(),
        note: format!(
            "{}, beside the chosen one; line: its interval, {} for all comparisons together. {}.",
            capital(goal(body.goal)),
            corun_stats::percent(body.design.confidence),
            subject(sweep)
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: format!("{}, the chosen one is 1", goal(body.goal)),
            reference: Some((1.0, "the chosen one".to_owned())),
        }),
        table: Some(Table::of("The candidates in figures", &header, table, detail)),
    }
}

/// CPUs of the chosen workers.
fn chosen_place(sweep: &Record<ThreadSweep>) -> Option<Figure> {
    let body = &sweep.body;
    let arms: Vec<_> = body.candidates.iter().map(|it| it.arm.clone()).collect();
    let chosen = body.chosen()?;
    Some(Figure {
        name: "placement",
        message: match chosen.arm.placement {
            Placement::Free(_) => format!("The kernel places the workers of {}", chosen.arm.id),
            _ => format!("Where the workers of {} ran", chosen.arm.id),
        },
        note: format!("The logical CPUs of the cores that may be used. {}.", subject(sweep)),
        plot: Plot::Places(Places { cores: cores(&arms)?, rows: vec![placed_arm(&chosen.arm)] }),
        table: None,
    })
}
