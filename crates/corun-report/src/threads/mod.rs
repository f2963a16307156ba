//! A sweep over numbers of workers: the answer, bars, lines to copy, what limits trust.

mod screen;
#[cfg(test)]
mod tests;

use corun_record::{
    Advice, Candidate, CsvText, Goal, Metric, Observation, Record, Standing, ThreadSweep,
    on_one_line,
};

use crate::bars::{Bar, bars};
use crate::csv::parameters;
use crate::figures::{interval, is_sensible, joules, ratio, seconds};
use crate::grid::NO_BREAK;
use crate::prose::{self, plural};
use crate::tables::{RateScale, Table};
use crate::terminal::{section, wrap};

pub use screen::threads_to_screen;

/// The answer alone, as a line.
pub fn threads_in_brief(sweep: &Record<ThreadSweep>, columns: u16) -> String {
    wrap(&answer(sweep), "", columns)
}

/// The sweep for a terminal of this many columns; `all_lines` shows the lines of tools, too, that have no use here.
pub fn threads_to_terminal(sweep: &Record<ThreadSweep>, columns: u16, all_lines: bool) -> String {
    let mut text = wrap(&answer(sweep), "", columns);
    if sweep.body.design.blocks > 0 {
        text.push('\n');
        text.push_str(&bars(&rows(&sweep.body), &headings(&sweep.body), columns));
        text.push('\n');
        for line in legend(&sweep.body) {
            text.push_str(&wrap(&line, "", columns));
        }
    }
    let advice: Vec<&Advice> =
        sweep.body.advice.iter().filter(|line| line.fits || all_lines).collect();
    if !advice.is_empty() {
        let title = if is_answered(&sweep.body) { "To use it" } else { "To try it" };
        text.push_str(&format!("\n{title}:\n"));
        let tool = advice.iter().map(|line| line.tool.len()).max().unwrap_or(0);
        for Advice { tool: name, line, .. } in advice {
            // A line to copy is not broken.
            text.push_str(&format!("  {name:tool$}  {}\n", on_one_line(line)));
        }
    }
    section(&mut text, "Limits of the CPUs", sweep.body.limits.clone(), columns);
    section(&mut text, "Not known here", sweep.body.unknown.clone(), columns);
    section(&mut text, "What did not run", failures(&sweep.body), columns);
    section(&mut text, "What limits trust", caveats(sweep), columns);
    text.push('\n');
    for line in course(sweep) {
        text.push_str(&wrap(&line, "", columns));
    }
    text
}

/// The sweep as Markdown.
pub fn threads_to_markdown(sweep: &Record<ThreadSweep>) -> String {
    let mut text = format!("# {}\n\n", crate::markdown::literal(&answer(sweep)));
    for line in course(sweep) {
        text.push_str(&format!("{}\n\n", crate::markdown::literal(&line)));
    }
    text.push_str(&crate::markdown::grid(&table(&sweep.body)));
    text.push_str("\n\n");
    for Advice { tool, line, .. } in sweep.body.advice.iter().filter(|line| line.fits) {
        text.push_str(&format!("{tool}:\n\n    {}\n\n", on_one_line(line)));
    }
    for caveat in caveats(sweep) {
        text.push_str(&format!("- {}\n", crate::markdown::literal(&caveat)));
    }
    text
}

/// A row for each candidate.
pub(crate) fn table(sweep: &ThreadSweep) -> Table {
    let header = ["candidate"].into_iter().chain(headings(sweep)).map(str::to_owned).collect();
    let row = |bar: Bar| [vec![bar.label], bar.columns].concat();
    Table { header, rows: rows(sweep).into_iter().map(row).collect() }
}

/// The candidates as CSV with a header line; an interval that is not known is empty.
pub fn threads_to_csv(sweep: &Record<ThreadSweep>) -> String {
    let sweep = &sweep.body;
    let mut table = CsvText::with_header([
        "arm",
        "workers",
        "cpus",
        "standing",
        "blocks",
        "metric",
        "unit",
        "value",
        "low",
        "high",
        "level",
        "workload",
        "parameters",
    ]);
    for seen in &sweep.observations {
        let Some(candidate) = sweep.candidates.iter().find(|it| it.arm.id == seen.arm) else {
            continue;
        };
        let cpus: Vec<String> = candidate.arm.cpus.iter().map(u32::to_string).collect();
        let name = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        table.row([
            candidate.arm.id.clone(),
            candidate.arm.workers.to_string(),
            cpus.join(" "),
            name(serde_json::to_value(candidate.standing).unwrap_or_default()),
            candidate.blocks.to_string(),
            name(serde_json::to_value(seen.metric).unwrap_or_default()),
            sweep.workload.unit_of(seen),
            seen.estimate.value.to_string(),
            seen.estimate.low.to_string(),
            seen.estimate.high.to_string(),
            seen.estimate.level.to_string(),
            sweep.workload.title(),
            parameters(&sweep.workload),
        ]);
    }
    table.finish()
}

/// The answer in one sentence, or why there is none.
pub fn answer(sweep: &Record<ThreadSweep>) -> String {
    match &sweep.body.answer {
        Some(answer) => match &answer.to_decide {
            Some(how) => format!("{} To decide it: {how}.", answer.sentence),
            None => answer.sentence.clone(),
        },
        None => {
            let why = &sweep.ending.sentence;
            let (first, rest) = why.split_at(why.chars().next().map_or(0, char::len_utf8));
            format!("No answer: {}{rest}.", first.to_lowercase())
        }
    }
}

/// The columns after the bars.
fn headings(sweep: &ThreadSweep) -> Vec<&'static str> {
    let has = |metric| sweep.observations.iter().any(|seen| seen.metric == metric);
    // The time of the load generator is no figure of the service.
    let time = if has(Metric::Latency) { "p99" } else { "time" };
    let mut headings = vec![score_name(sweep.goal), time];
    if has(Metric::EnergyPerOperation) {
        headings.push("energy");
    }
    headings.push("");
    headings
}

fn score_name(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "work",
        Goal::Latency => "speed",
        Goal::Energy => "thrift",
    }
}

fn rows(sweep: &ThreadSweep) -> Vec<Bar> {
    let headings = headings(sweep);
    let row = |candidate: &Candidate| {
        let arm = candidate.arm.id.as_str();
        let of = |metric| sweep.observation(metric, arm);
        let score = of(Metric::RelativeToChosen).map(|seen| seen.estimate);
        let is_known = candidate.failure.is_none();
        let sensible = score.filter(|score| is_known && is_sensible(score));
        let value = match (candidate.standing, score) {
            (Standing::Chosen, _) => 1.0,
            (_, Some(score)) if is_known => score.value,
            _ => 0.0,
        };
        // Where the interval says nothing, all of the bar is in doubt.
        let in_doubt = (candidate.standing != Standing::Chosen).then_some([0.0, value]);
        let limits = sensible.map(|score| [score.low, score.high]).or(in_doubt);
        let text = |metric, form: fn(f64) -> String| {
            of(metric).map_or_else(String::new, |seen: &Observation| form(seen.estimate.value))
        };
        let screening = candidate.screening.filter(|_| candidate.blocks == 0);
        let columns = headings
            .iter()
            .map(|heading| match *heading {
                "time" => match screening {
                    Some(run) if run.is_ended => format!("over {}", seconds(run.seconds)),
                    Some(run) => seconds(run.seconds),
                    None => text(Metric::Makespan, seconds),
                },
                "p99" => text(Metric::Latency, seconds),
                "energy" => text(Metric::EnergyPerOperation, joules),
                "" => standing(candidate, is_answered(sweep)),
                _ => match sensible {
                    Some(score) => format!("{} ({})", ratio(&score), interval(&score)),
                    None if candidate.standing == Standing::Chosen => "1.00".to_owned(),
                    None if screening.is_some_and(|run| run.is_ended) => "ended early".to_owned(),
                    None if screening.is_some() => "one run".to_owned(),
                    None if !is_known || candidate.blocks == 0 => String::new(),
                    None if candidate.blocks < 2 => "too few blocks".to_owned(),
                    None => "too uncertain".to_owned(),
                },
            })
            .collect();
        Bar { label: label(candidate), value, limits, columns }
    };
    sweep.candidates.iter().map(row).collect()
}

/// True if the evidence carries an answer.
pub fn is_answered(sweep: &ThreadSweep) -> bool {
    sweep.answer.as_ref().is_some_and(|answer| answer.verdict.is_answer())
}

/// The placement and its workers: `spread@4`, `full (8)`.
pub fn label(candidate: &Candidate) -> String {
    match candidate.arm.id.contains('@') {
        true => candidate.arm.id.clone(),
        false => format!("{} ({})", candidate.arm.id, candidate.arm.workers),
    }
}

/// Standing of a candidate, in a word.
pub fn standing(candidate: &Candidate, is_answered: bool) -> String {
    match candidate.standing {
        Standing::Chosen if is_answered => "use",
        Standing::Chosen => "so far",
        Standing::Equal => "equal",
        Standing::Worse => "worse",
        Standing::Undecided => "open",
        Standing::Screened => "left out",
        Standing::Failed => "failed",
    }
    .to_owned()
}

/// Legend of the bars, and of the placements that occur.
pub fn legend(sweep: &ThreadSweep) -> Vec<String> {
    let amount = match sweep.goal {
        Goal::Throughput => "work done in a second",
        Goal::Latency => "speed of a run or request",
        Goal::Energy => "work done with a joule",
    };
    let rate = sweep.chosen().and_then(|it| sweep.observation(Metric::Throughput, &it.arm.id));
    let rate = rate.map_or_else(String::new, |seen| {
        let scale = RateScale::up_to(seen.estimate.value, &sweep.workload.operation);
        let unit = scale.unit.replace(NO_BREAK, " ");
        format!(" The chosen one does {} {unit}.", scale.show(seen.estimate.value))
    });
    let mut lines = vec![format!(
        "Bars: {amount}, beside the chosen one; shaded: its interval, {} % for all together.{rate}",
        sweep.design.confidence * 100.0
    )];
    let mut placements: Vec<_> = sweep.candidates.iter().map(|it| it.arm.placement).collect();
    placements.dedup_by_key(|placement| placement.summary());
    let named = placements.iter().map(|placement| {
        let name = placement.to_string();
        let name = name.split('@').next().unwrap_or_default().to_owned();
        format!("{name}: {}", placement.summary())
    });
    let named: Vec<String> = named.collect();
    lines.push(format!("{}.", named.join("; ")));
    lines
}

/// The candidates that did not run to their end, and why.
pub fn failures(sweep: &ThreadSweep) -> Vec<String> {
    let failed = |candidate: &Candidate| {
        let why = candidate.failure.as_ref()?;
        Some(format!("{}: {}", candidate.arm.id, on_one_line(why)))
    };
    sweep.candidates.iter().filter_map(failed).collect()
}

fn caveats(sweep: &Record<ThreadSweep>) -> Vec<String> {
    sweep.caveats.iter().map(|caveat| caveat.sentence.clone()).collect()
}

/// The machine in a line.
fn machine_line(sweep: &Record<ThreadSweep>) -> String {
    sweep.machine.as_ref().map(prose::machine).unwrap_or_default()
}

/// Work and machine, and the course of the sweep.
pub fn course(sweep: &Record<ThreadSweep>) -> Vec<String> {
    let design = &sweep.body.design;
    let mut lines = vec![prose::work(&sweep.body.workload)];
    lines.extend(sweep.body.workload.load.as_ref().map(prose::load));
    lines.extend([
        machine_line(sweep),
        format!(
            "One run each of {} of {} possible candidates, then {} of {}, {} in {}, seed {}; {}.",
            sweep.body.candidates.len(),
            design.full_grid,
            plural(design.blocks as usize, "block"),
            sweep.body.candidates.iter().filter(|it| it.blocks > 0).count(),
            plural(design.runs as usize, "run"),
            seconds(sweep.elapsed_s),
            design.seed,
            sweep.ending.sentence
        ),
    ]);
    lines
}
