//! The article of schedules: how long each policy takes, who ran where, and how busy each CPU was.

use corun_record::{Record, Schedule, ScheduledRun, ScheduledTimeline};
use corun_report::parts::figures;
use corun_report::seconds;

use super::common::{machine, origin, thinned, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::bars::{Bar, Bars};
use crate::plot::gantt::{Busy, Gantt, Lane};
use crate::plot::stacks::{Part as Share, Stack, Stacks};
use crate::plot::{Plot, WIDTHS};

pub(super) fn article(schedule: &Record<Schedule>, detail: Detail) -> Article {
    let body = &schedule.body;
    let mut pictures: Vec<Part> = Vec::new();
    for load in loads(body) {
        pictures.push(makespans(body, &load, detail).into());
        pictures.extend(
            body.timelines
                .iter()
                .filter(|it| it.load == load)
                .map(|it| Part::from(gantt(it, body, 6 * detail.dots))),
        );
        pictures.extend(use_of_cpus(body, &load, detail).map(Part::from));
    }
    let rows = body.runs.iter().map(row).collect();
    let header = [
        "load",
        "policy",
        "seed",
        "time",
        "operations a second",
        "used",
        "fairness",
        "switches",
        "moves",
        "longest wait",
        "p50",
        "p99",
    ];
    let table = Table::of("Each run", &header, rows, detail);
    let mut sections = vec![
        Section::new("In pictures", pictures),
        Section::new("In figures", vec![Part::Table(table)]),
    ];
    sections.extend(trust(&schedule.caveats, &schedule.ending));
    let mut facts = vec![
        ("simulated machine".to_owned(), body.simulated_machine.title.clone()),
        ("siblings".to_owned(), body.siblings.clone()),
    ];
    for cost in &body.costs {
        facts.push((format!("cost of {}", cost.name), seconds(cost.nanoseconds as f64 * 1e-9)));
    }
    facts.extend(origin(
        &schedule.corun_version,
        &schedule.started,
        schedule.elapsed_s,
        &schedule.ending,
    ));
    sections.push(Section::folded("How it was made", vec![Part::Facts(facts)]));
    sections.extend(machine(schedule.machine.as_ref()));
    Article {
        kind: "Schedules, simulated",
        title: loads(body).join(", "),
        answers: answers(body),
        sections,
        ..Article::default()
    }
}

fn loads(schedule: &Schedule) -> Vec<String> {
    let mut loads: Vec<String> = Vec::new();
    for run in &schedule.runs {
        if !loads.contains(&run.load) {
            loads.push(run.load.clone());
        }
    }
    loads
}

/// The policies of a load, each with its runs.
fn policies<'a>(schedule: &'a Schedule, load: &str) -> Vec<(&'a str, Vec<&'a ScheduledRun>)> {
    let mut policies: Vec<(&str, Vec<&ScheduledRun>)> = Vec::new();
    for run in schedule.runs.iter().filter(|it| it.load == load) {
        match policies.iter_mut().find(|it| it.0 == run.policy) {
            Some(policy) => policy.1.push(run),
            None => policies.push((&run.policy, vec![run])),
        }
    }
    policies
}

fn mean(runs: &[&ScheduledRun], of: impl Fn(&ScheduledRun) -> f64) -> f64 {
    runs.iter().map(|run| of(run)).sum::<f64>() / runs.len().max(1) as f64
}

fn answers(schedule: &Schedule) -> Vec<Statement> {
    let each = loads(schedule).into_iter().filter_map(|load| {
        let policies = policies(schedule, &load);
        let time = |it: &(&str, Vec<&ScheduledRun>)| mean(&it.1, |run| run.makespan_s);
        let best = policies.iter().min_by(|one, other| time(one).total_cmp(&time(other)))?;
        let worst = policies.iter().max_by(|one, other| time(one).total_cmp(&time(other)))?;
        let sentence = match policies.len() {
            1 => format!("{load}: {} takes {}.", best.0, seconds(time(best))),
            _ => format!(
                "{load}: {} is the quickest ({}), {} the slowest ({}, {:.2} times as long).",
                best.0,
                seconds(time(best)),
                worst.0,
                seconds(time(worst)),
                time(worst) / time(best)
            ),
        };
        Some(Statement::new("even", sentence))
    });
    let stuck = schedule.runs.iter().any(|it| !it.finished).then(|| {
        Statement::new("bad", "Not every run did all of its work: those are marked in the table.")
    });
    each.chain(stuck).collect()
}

fn subject(schedule: &Schedule) -> String {
    format!("{}; {}", schedule.simulated_machine.title, schedule.siblings)
}

fn makespans(schedule: &Schedule, load: &str, detail: Detail) -> Figure {
    let policies = policies(schedule, load);
    let longest = policies.iter().map(|it| mean(&it.1, |run| run.makespan_s)).fold(0.0, f64::max);
    let (factor, unit) = match longest {
        it if it >= 1.0 => (1.0, "s"),
        it if it >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "µs"),
    };
    let rows = policies.iter().map(|(policy, runs)| {
        let time = mean(runs, |run| run.makespan_s);
        let dots = runs.iter().map(|run| {
            (run.makespan_s * factor, format!("seed {}: {}", run.seed, seconds(run.makespan_s)))
        });
        let dots: Vec<(f64, String)> = if runs.len() > 1 { dots.collect() } else { Vec::new() };
        Bar {
            label: (*policy).to_owned(),
            value: Some(time * factor),
            dots: thinned(dots, detail.dots_of(policies.len()), |it| it.0),
            figure: seconds(time),
            class: "c1",
            ..Bar::default()
        }
    });
    Figure {
        name: "makespan",
        message: format!("How long {load} takes under each policy"),
        note: format!("Simulated; shorter is better. Dot: one seed. {}.", subject(schedule)),
        plot: Plot::Bars(Bars {
            rows: rows.collect(),
            axis: format!("time until all is done, {unit}"),
            reference: None,
        }),
        table: None,
    }
}

/// Who ran where in each recorded run, by the pixel where there are many intervals.
pub(crate) fn timelines(schedule: &Schedule) -> Vec<Figure> {
    let pixels = WIDTHS[0] as usize;
    let figures = schedule.timelines.iter();
    figures.map(|it| gantt(it, schedule, pixels * it.cpus.len())).collect()
}

/// Who ran where, with about so many intervals at most.
fn gantt(timeline: &ScheduledTimeline, schedule: &Schedule, most: usize) -> Figure {
    let timeline = &corun_report::shortened_timeline(timeline, most);
    let end = timeline.makespan_ns as f64;
    let (factor, unit) = match end {
        it if it >= 1e9 => (1e-9, "s"),
        it if it >= 1e6 => (1e-6, "ms"),
        _ => (1e-3, "µs"),
    };
    let lane = |&cpu: &usize| {
        let own = timeline.intervals.iter().filter(|it| it.cpu == cpu);
        let times = own.map(|it| {
            let program = timeline.programs.get(it.program).map_or("", String::as_str);
            let [begin, end] = [it.begin_ns, it.end_ns].map(|it| it as f64);
            let words = format!(
                "task {}, {program}: {} to {}",
                it.task,
                seconds(begin * 1e-9),
                seconds(end * 1e-9)
            );
            Busy { begin: begin * factor, end: end * factor, task: it.task, words }
        });
        let number = timeline.cpus.get(cpu).map_or_else(|| "-".to_owned(), u32::to_string);
        Lane { label: format!("CPU {number}"), times: times.collect() }
    };
    let cores = timeline.cores.iter().map(|core| core.iter().map(lane).collect()).collect();
    Figure {
        name: "gantt",
        message: format!(
            "Who ran where: {} under {}, done after {}",
            timeline.load,
            timeline.policy,
            seconds(timeline.makespan_ns as f64 * 1e-9)
        ),
        note: format!(
            "Simulated. A line for each logical CPU, siblings together; each colour is a task, and eight colours repeat; turns too short \
             to be seen are drawn as shares. \
             {}.",
            subject(schedule)
        ),
        plot: Plot::Gantt(Gantt { cores, end: end * factor, across: format!("time, {unit}") }),
        table: None,
    }
}

/// Use of the time of all logical CPUs under each policy.
fn use_of_cpus(schedule: &Schedule, load: &str, detail: Detail) -> Option<Figure> {
    let mut table = Vec::new();
    let rows = policies(schedule, load).into_iter().map(|(policy, runs)| {
        let run = runs[0];
        let all = run.makespan_s * run.cpus.len() as f64;
        let sum = |of: fn(&corun_record::ScheduledCpu) -> f64| {
            run.cpus.iter().map(of).sum::<f64>() / all.max(1e-12)
        };
        let (busy, beside, kernel) =
            (sum(|it| it.busy_s), sum(|it| it.beside_sibling_s), sum(|it| it.kernel_s));
        let share = |name: &str, share: f64, class| Share { name: name.to_owned(), share, class };
        for cpu in &run.cpus {
            table.push(vec![
                policy.to_owned(),
                cpu.cpu.to_string(),
                corun_stats::percent(cpu.busy_s / run.makespan_s.max(1e-12)),
                corun_stats::percent(cpu.beside_sibling_s / run.makespan_s.max(1e-12)),
                corun_stats::percent(cpu.kernel_s / run.makespan_s.max(1e-12)),
            ]);
        }
        Stack {
            label: policy.to_owned(),
            parts: vec![
                share("alone on the core", busy - beside, "c3"),
                share("beside a busy sibling", beside, "c2"),
                share("kernel", kernel, "c4"),
            ],
            figure: corun_stats::percent(busy),
        }
    });
    let rows: Vec<Stack> = rows.collect();
    let occurs = |class: &str| {
        rows.iter().flat_map(|it| &it.parts).any(|it| it.class == class && it.share > 0.0)
    };
    let legend = [
        ("c3", "with a task, siblings idle"),
        ("c2", "with a task, beside a busy sibling"),
        ("c4", "the kernel's own work"),
    ];
    let legend = legend.into_iter().filter(|it| occurs(it.0));
    let legend = legend.map(|(class, name)| (class, name.to_owned())).collect();
    (!rows.is_empty()).then(|| Figure {
        name: "use",
        message: format!("How the logical CPUs were used by {load}"),
        note: format!(
            "Simulated, the first seed. The rest of a bar is idle. {}.",
            subject(schedule)
        ),
        plot: Plot::Stacks(Stacks {
            rows,
            axis: "share of the time of all logical CPUs".to_owned(),
            legend,
        }),
        table: Some(Table::of(
            "Each logical CPU, first seed",
            &["policy", "CPU", "busy", "beside a busy sibling", "kernel"],
            table,
            detail,
        )),
    })
}

fn row(run: &ScheduledRun) -> Vec<String> {
    let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), seconds);
    let mark = if run.finished { "" } else { " (not finished)" };
    vec![
        run.load.clone(),
        run.policy.clone(),
        run.seed.to_string(),
        format!("{}{mark}", seconds(run.makespan_s)),
        figures::three_digits(run.throughput),
        corun_stats::percent(run.utilization),
        format!("{:.3}", run.fairness),
        run.switches.to_string(),
        run.migrations.all().to_string(),
        seconds(run.longest_wait_s),
        time(run.latency.map(|it| it.p50_s)),
        time(run.latency.map(|it| it.p99_s)),
    ]
}
