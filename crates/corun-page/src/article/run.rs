//! The article of a run: the answer, the bars with every sample, where the workers ran, what was seen beside
//! each sample.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{Answer, Arm, Metric, Placement, Run, Sample};
use corun_report::parts::{self, figures, prose};
use corun_report::{interval, ratio, seconds};

use super::common::{capital, level, limits, machine, origin, thinned, title, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::bars::{Bar, Bars};
use crate::plot::course::{Course, Panel, Reading};
use crate::plot::places::{PlacedArm, Places};
use crate::plot::{Plot, colour};

pub(super) fn article(run: &Run, detail: Detail) -> Article {
    let mut sections = vec![Section::new("In pictures", pictures(run, detail))];
    sections.extend(why(run, detail));
    sections.extend(what_to_do(run));
    sections.extend(Section::of_sentences("Not possible here", prose::not_possible(run)));
    sections.extend(trust(&run.caveats, &run.ending));
    sections.push(evidence(run, detail));
    sections.push(command(run));
    sections.extend(machine(Some(&run.machine)));
    Article {
        kind: "Measurement",
        title: title(&run.workload),
        answers: answers(run),
        sections,
        ..Article::default()
    }
}

pub(super) fn answers(run: &Run) -> Vec<Statement> {
    let statement = |(answer, sentence): (Answer, String)| Statement::new(tone(answer), sentence);
    prose::answers(run).into_iter().map(statement).collect()
}

fn tone(answer: Answer) -> &'static str {
    match answer {
        Answer::Helps => "good",
        Answer::Hurts => "bad",
        Answer::NoPracticalEffect => "even",
        Answer::Inconclusive => "open",
    }
}

/// Work and machine, for the note of a picture.
pub(super) fn subject(run: &Run) -> String {
    format!("Run: {}; {}", prose::work(&run.workload), prose::machine(&run.machine))
}

fn shown_arms(run: &Run) -> impl Iterator<Item = &Arm> {
    run.arms.iter().filter(|arm| arm.twin_of.is_none())
}

fn pictures(run: &Run, detail: Detail) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    if !run.samples.is_empty() {
        parts.push(speed(run, detail).into());
    }
    parts.extend(ratios(run, detail).map(Part::from));
    parts.extend(placement(run).map(Part::from));
    parts.extend(course(run, detail).map(Part::from));
    parts
}

/// The headline: the first answer, or what is shown.
pub(super) fn headline(run: &Run) -> String {
    prose::answers(run).into_iter().next().map_or_else(String::new, |it| it.1)
}

/// The work of each arm with its interval, and every run as a dot.
pub(super) fn speed(run: &Run, detail: Detail) -> Figure {
    let scale = figures::RateScale::of(run);
    let arms: Vec<&Arm> = shown_arms(run).collect();
    let most = detail.dots_of(arms.len());
    let mut is_thinned = false;
    let rows = arms.iter().enumerate().map(|(index, arm)| {
        // The mean is that of the arm and of its twin.
        let is_own = |id: &str| {
            id == arm.id || run.arm(id).is_some_and(|it| it.twin_of.as_ref() == Some(&arm.id))
        };
        let samples: Vec<&Sample> = run.samples.iter().filter(|it| is_own(&it.arm)).collect();
        is_thinned |= samples.len() > most;
        let dots = thinned(samples, most, |it| it.throughput).into_iter().map(|sample| {
            let words = format!(
                "{}, block {}: {} {}, {}",
                arm.id,
                sample.block.saturating_add(1),
                scale.show(sample.throughput),
                scale.unit,
                seconds(sample.makespan_s)
            );
            (sample.throughput * scale.factor, words)
        });
        let seen = run.observation(Metric::Throughput, &arm.id).map(|it| it.estimate);
        Bar {
            label: arm.id.clone(),
            remark: placed(arm),
            value: seen.map(|it| it.value * scale.factor),
            limits: seen.as_ref().and_then(limits).map(|it| it.map(|it| it * scale.factor)),
            dots: dots.collect(),
            figure: seen
                .map_or_else(String::new, |it| figures::with_half_width(scale.show(it.value), &it)),
            class: colour(index),
            ..Bar::default()
        }
    });
    let rows: Vec<Bar> = rows.collect();
    let first = run.observations.iter().find(|it| it.metric == Metric::Throughput);
    let level = first.map_or_else(|| "95 %".to_owned(), |it| level(&it.estimate));
    let thinning = match is_thinned {
        true => format!(
            " Of each arm {most} runs are drawn, evenly by rank, the slowest and the fastest among them."
        ),
        false => String::new(),
    };
    Figure {
        name: "speed",
        message: headline(run),
        note: format!(
            "Work done by all workers in a second, in each placement; longer is better. Bar: the mean; \
             line: its {level} interval; dot: one run. {}.{thinning}",
            subject(run)
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: format!("work of all workers, {}", plain(&scale.unit)),
            reference: None,
        }),
        table: Some(Table::new("Each placement in figures", parts::run::arms(run), detail)),
    }
}

fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

fn placed(arm: &Arm) -> String {
    let workers = prose::plural(arm.workers as usize, "worker");
    match arm.cores {
        0 => workers,
        cores => format!("{workers}, {}", prose::plural(cores as usize, "core")),
    }
}

/// The comparisons around 1.
fn ratios(run: &Run, detail: Detail) -> Option<Figure> {
    let compared = run.observations.iter().filter(|seen| {
        seen.against.is_some() && seen.unit == "1" && seen.metric != Metric::RelativeThroughput
    });
    let rows: Vec<Bar> = compared
        .map(|seen| Bar {
            label: seen.metric.name().to_owned(),
            remark: format!("{} / {}", seen.arm, seen.against.as_deref().unwrap_or_default()),
            value: figures::is_sensible(&seen.estimate).then_some(seen.estimate.value),
            limits: limits(&seen.estimate),
            figure: format!("{} ({})", ratio(&seen.estimate), interval(&seen.estimate)),
            class: "c1",
            ..Bar::default()
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    Some(Figure {
        name: "ratios",
        message: "What one placement is worth against another".to_owned(),
        note: format!(
            "Ratios of placements, measured within the same blocks; line: the interval; 1 is no difference. {}.",
            subject(run)
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "ratio".to_owned(),
            reference: Some((1.0, "no difference".to_owned())),
        }),
        table: Some(Table::new("The comparisons", parts::run::comparisons(run), detail)),
    })
}

/// CPUs of the workers of each arm.
fn placement(run: &Run) -> Option<Figure> {
    let cores = cores(&run.arms)?;
    let rows: Vec<PlacedArm> = shown_arms(run).map(placed_arm).collect();
    Some(Figure {
        name: "placement",
        message: "Where the workers of each placement ran".to_owned(),
        note: format!(
            "The logical CPUs of the cores that were used. {}.",
            prose::machine(&run.machine)
        ),
        plot: Plot::Places(Places { cores, rows }),
        table: None,
    })
}

pub(super) fn placed_arm(arm: &Arm) -> PlacedArm {
    let mut workers = BTreeMap::new();
    for cpu in &arm.cpus {
        *workers.entry(*cpu).or_insert(0) += 1;
    }
    PlacedArm {
        label: arm.id.clone(),
        workers,
        idle: arm.idle_siblings.iter().copied().collect(),
        free: arm.cpus.is_empty().then_some(arm.workers),
    }
}

/// The logical CPUs of each core, as far as the arms show: an arm with one worker a core has the siblings of
/// its CPUs in the same order. A CPU of which no sibling is known stands alone.
pub(super) fn cores(arms: &[Arm]) -> Option<Vec<Vec<u32>>> {
    let all: BTreeSet<u32> =
        arms.iter().flat_map(|arm| arm.cpus.iter().chain(&arm.idle_siblings)).copied().collect();
    if all.is_empty() {
        return None;
    }
    let mut cores: Vec<Vec<u32>> = Vec::new();
    let is_one_a_core =
        |arm: &&Arm| matches!(arm.placement, Placement::Spread(_) | Placement::Single);
    let mut known: BTreeSet<u32> = BTreeSet::new();
    for arm in arms.iter().filter(is_one_a_core) {
        let (used, idle) = (arm.cpus.len(), arm.idle_siblings.len());
        if used == 0 || idle % used != 0 {
            continue;
        }
        let each = idle / used;
        for (at, cpu) in arm.cpus.iter().enumerate() {
            if known.contains(cpu) {
                continue;
            }
            let core: Vec<u32> =
                [&[*cpu][..], &arm.idle_siblings[at * each..(at + 1) * each]].concat();
            known.extend(&core);
            cores.push(core);
        }
    }
    cores.extend(all.difference(&known).map(|cpu| vec![*cpu]));
    cores.sort();
    Some(cores)
}

/// Evidence beside each sample, in the order of the run.
pub(super) fn course(run: &Run, detail: Detail) -> Option<Figure> {
    let figure = course_of(&run.arms, &run.samples, detail)?;
    Some(Figure { note: format!("{} {}.", figure.note, subject(run)), ..figure })
}

pub(super) fn course_of(arms: &[Arm], samples: &[Sample], detail: Detail) -> Option<Figure> {
    let mut own: Vec<&str> =
        arms.iter().filter(|arm| arm.twin_of.is_none()).map(|arm| arm.id.as_str()).collect();
    own.dedup();
    let series_of = |id: &str| {
        let arm = arms.iter().find(|arm| arm.id == id)?;
        let id = arm.twin_of.as_deref().unwrap_or(&arm.id);
        own.iter().position(|it| *it == id)
    };
    let mut ordered: Vec<(usize, &Sample)> =
        samples.iter().filter_map(|it| Some((series_of(&it.arm)?, it))).collect();
    if ordered.is_empty() {
        return None;
    }
    ordered.sort_by_key(|(_, it)| (it.block, it.position));
    let median = |series: usize| {
        let mut times: Vec<f64> =
            ordered.iter().filter(|it| it.0 == series).map(|it| it.1.makespan_s).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(1.0)
    };
    let medians: Vec<f64> = (0..own.len()).map(median).collect();
    let every = ordered.len().div_ceil(detail.dots.max(1)).max(1);
    let panel = |title: &str, of: &dyn Fn(usize, &Sample) -> Option<f64>, unit: &str| {
        let points =
            ordered.iter().enumerate().step_by(every).filter_map(|(place, (series, it))| {
                let value = of(*series, it)?;
                let words = format!(
                    "{}, block {}: {} {unit}",
                    it.arm,
                    it.block.saturating_add(1),
                    figures::three_digits(value)
                );
                Some(Reading { place: place as f64, value, series: *series, words })
            });
        let points: Vec<Reading> = points.collect();
        (!points.is_empty()).then(|| Panel { title: format!("{title}, {unit}"), points })
    };
    let percent = |share: f64| 100.0 * share;
    let clock = |it: &Sample| {
        let probes: Vec<f64> =
            it.evidence.clocks.iter().flat_map(|it| [it.before_per_ns, it.after_per_ns]).collect();
        (!probes.is_empty()).then(|| probes.iter().sum::<f64>() / probes.len() as f64)
    };
    let panels = [
        panel(
            "time, beside the median of its placement",
            &|at, it| Some(percent(it.makespan_s / medians[at] - 1.0)),
            "%",
        ),
        panel(
            "clock of the used CPUs: multiplications, one after the other",
            &|_, it| clock(it),
            "per ns",
        ),
        panel(
            "time that the hypervisor took (steal), of the run's",
            &|_, it| it.evidence.steal_s.map(|steal| percent(steal / it.makespan_s.max(1e-12))),
            "%",
        ),
        panel("other work on the used CPUs", &|_, it| it.evidence.foreign_busy.map(percent), "%"),
        panel(
            "busiest of the siblings that should be idle",
            &|_, it| it.evidence.idle_sibling_busy.map(percent),
            "%",
        ),
    ];
    let panels: Vec<Panel> = panels.into_iter().flatten().collect();
    let thinning = match every {
        1 => String::new(),
        every => format!(" One run of {every} is drawn."),
    };
    Some(Figure {
        name: "disturbances",
        message: "What was seen beside each run".to_owned(),
        note: format!(
            "Each mark is a run, in the order in which they ran: what stands out in the time and in a panel below at the \
             same place was disturbed by it.{thinning}"
        ),
        plot: Plot::Course(Course {
            panels,
            series: own.iter().enumerate().map(|(at, id)| (colour(at), (*id).to_owned())).collect(),
            across: "runs, in their order".to_owned(),
        }),
        table: None,
    })
}

fn why(run: &Run, detail: Detail) -> Option<Section> {
    let tables = [
        ("The comparisons", parts::run::comparisons(run)),
        ("Beside the work", parts::run::details(run)),
        ("Latencies", parts::run::latencies(run)),
    ];
    let tables = tables.into_iter().filter(|(_, table)| !table.rows.is_empty());
    let parts: Vec<Part> =
        tables.map(|(caption, table)| Part::Table(Table::new(caption, table, detail))).collect();
    (!parts.is_empty()).then(|| Section::new("Why: what was compared", parts))
}

/// Advice that follows from the headline.
fn what_to_do(run: &Run) -> Option<Section> {
    let first = run.verdicts.first().filter(|_| !run.is_without_interval())?;
    let (better, other) = (&first.arm, &first.against);
    let mut lines = vec![match first.answer {
        Answer::Helps => format!("Run it as in {better}: more work than as in {other}."),
        Answer::Hurts => format!("Run it as in {other}: as in {better} less work is done."),
        Answer::NoPracticalEffect => {
            format!("Choose {better} or {other} by other needs: the difference is within the practical bound.")
        }
        Answer::Inconclusive => {
            "Nothing is decided: allow more time (--max-time), or quieten the machine (`corun doctor`).".to_owned()
        }
    }];
    lines.push("`corun threads` finds the number of workers, with lines to copy.".to_owned());
    Section::of_sentences("What to do", lines)
}

fn evidence(run: &Run, detail: Detail) -> Section {
    let rows = run.samples.iter().take(detail.rows).map(|it| {
        let seen = &it.evidence;
        let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), corun_stats::percent);
        vec![
            it.block.saturating_add(1).to_string(),
            it.arm.clone(),
            seconds(it.makespan_s),
            figures::three_digits(it.throughput),
            share(seen.steal_s.map(|steal| steal / it.makespan_s.max(1e-12))),
            share(seen.foreign_busy),
            share(seen.idle_sibling_busy),
            seen.involuntary_switches.to_string(),
        ]
    });
    let header = [
        "block",
        "placement",
        "time",
        "work a second",
        "steal",
        "other work",
        "idle sibling busy",
        "preempted",
    ];
    let table = Table {
        left_out: run.samples.len().saturating_sub(detail.rows),
        ..Table::of("Every run", &header, rows.collect(), detail)
    };
    Section::folded(
        "The evidence: every run",
        vec![Part::Paragraph(prose::course(run)), Part::Table(table)],
    )
}

/// Command that was run, and a line that measures it again.
fn command(run: &Run) -> Section {
    let mut facts = vec![("what was run".to_owned(), prose::work(&run.workload))];
    if !run.workload.command.is_empty() {
        facts.push(("command".to_owned(), shell_words::join(&run.workload.command)));
    }
    facts.extend(run.workload.load.as_ref().map(|load| ("load".to_owned(), prose::load(load))));
    facts.extend(origin(&run.corun_version, &run.started, run.elapsed_s, &run.ending));
    facts.push(("seed".to_owned(), run.design.seed.to_string()));
    facts = facts.into_iter().map(|(name, value)| (capital(&name), value)).collect();
    Section::folded("The exact command", vec![Part::Facts(facts)])
}
