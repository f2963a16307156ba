//! The document of `corun compare` as text.

use std::collections::BTreeSet;

use corun_record::{
    ChangeAnswer, ComparedObservation, Estimate, Metric, Pairing, Record, RunComparison, on_lines,
    on_one_line,
};
use corun_stats::percent;

use super::answers;
use crate::figures::{interval, joules, ratio, seconds, three_digits, unit, with_half_width};
use crate::grid::{NO_BREAK, grid};
use crate::markdown::{self, literal};
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{section, wrap};

/// The comparison as text for a terminal of this many columns, its answers coloured if it `has_colour`.
pub fn comparison_to_terminal(
    record: &Record<RunComparison>,
    columns: u16,
    has_colour: bool,
) -> String {
    let comparison = &record.body;
    let mut before = String::new();
    if !comparison.differences.is_empty() {
        before.push_str("What differs beside the figures:\n\n");
        before.push_str(&grid(&differences(comparison), columns));
        before.push_str("\n\n");
    }
    let mut after = String::from("\n");
    for (title, table) in tables(comparison) {
        after.push_str(&wrap(&title, "  ", columns));
        after.push('\n');
        after.push_str(&grid(&table, columns));
        after.push_str("\n\n");
    }
    after.truncate(after.trim_end().len());
    after.push('\n');
    section(&mut after, "Not compared", not_compared(comparison), columns);
    let caveats = record.caveats.iter().map(|it| it.sentence.clone()).collect();
    section(&mut after, "What limits trust", caveats, columns);
    after.push('\n');
    after.push_str(&wrap(&method(comparison), "", columns));
    // Nothing that others wrote brings colours of its own.
    on_lines(&before).into_owned()
        + &comparison_in_brief(record, columns, has_colour)
        + &on_lines(&after)
}

/// The answers alone, and the outcome of `--fail-on`.
pub fn comparison_in_brief(
    record: &Record<RunComparison>,
    columns: u16,
    has_colour: bool,
) -> String {
    let painted = |(answer, sentence): (ChangeAnswer, String)| {
        let colour = answers::colour(answer);
        let sentence = on_one_line(&sentence);
        let text = match (has_colour, sentence.rfind(": ")) {
            (true, Some(end)) => {
                let (claim, figures) = sentence.split_at(end);
                format!("\u{1b}[{colour}m{claim}\u{1b}[0m{figures}")
            }
            _ => sentence,
        };
        wrap(&text, "  ", columns)
    };
    let mut text: String = answers::answers(&record.body).into_iter().map(painted).collect();
    if let Some(gate) = &record.body.gate {
        text.push_str(&wrap(&answers::gate(gate), "  ", columns));
    }
    text
}

/// The comparison as Markdown, for a pull request.
pub fn comparison_to_markdown(record: &Record<RunComparison>) -> String {
    let comparison = &record.body;
    let names: Vec<String> = comparison.runs.iter().skip(1).map(|it| literal(&it.name)).collect();
    let base = comparison.runs.first().map(|it| literal(&it.name)).unwrap_or_default();
    let mut text = format!("# {} against {base}\n\n", names.join(", "));
    for (_, sentence) in answers::answers(comparison) {
        text.push_str(&format!("**{}**\n\n", literal(&sentence)));
    }
    if let Some(gate) = &comparison.gate {
        text.push_str(&format!("{}\n\n", literal(&answers::gate(gate))));
    }
    if !comparison.differences.is_empty() {
        text.push_str("## What differs beside the figures\n\n");
        text.push_str(&markdown::grid(&escaped(&differences(comparison))));
        text.push_str("\n\n");
    }
    for (title, table) in tables(comparison) {
        text.push_str(&format!("## {}\n\n", literal(&title)));
        text.push_str(&markdown::grid(&escaped(&table)));
        text.push_str("\n\n");
    }
    let caveats = record.caveats.iter().map(|it| it.sentence.clone()).collect();
    for (title, lines) in
        [("Not compared", not_compared(comparison)), ("What limits trust", caveats)]
    {
        if !lines.is_empty() {
            text.push_str(&format!("## {title}\n\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {}\n", literal(line))));
            text.push('\n');
        }
    }
    text.push_str(&literal(&method(comparison)));
    text.push('\n');
    on_lines(&text).into_owned()
}

/// Table with texts of others, with nothing that Markdown takes for markup; bars are escaped where the table is made.
fn escaped(table: &Table) -> Table {
    let plain = |text: &String| literal(text).replace("\\|", "|");
    let rows = table.rows.iter().map(|row| row.iter().map(plain).collect()).collect();
    Table { header: table.header.iter().map(plain).collect(), rows }
}

/// The facts that differ, a row each with the value of each run.
pub fn differences(comparison: &RunComparison) -> Table {
    let names = comparison.runs.iter().map(|run| run.name.clone());
    let row = |difference: &corun_record::RunDifference| {
        let values = difference.values.iter();
        let values = values.map(|it| it.clone().unwrap_or_else(|| "not known".to_owned()));
        [difference.what.clone()].into_iter().chain(values).collect()
    };
    Table {
        header: [String::new()].into_iter().chain(names).collect(),
        rows: comparison.differences.iter().map(row).collect(),
    }
}

/// A table for each run beside the base.
pub fn tables(comparison: &RunComparison) -> Vec<(String, Table)> {
    let base = comparison.runs.first().map(|run| run.name.as_str()).unwrap_or_default();
    let of_run = |(index, run): (u32, &corun_record::ComparedRun)| {
        let rows: Vec<&ComparedObservation> =
            comparison.observations.iter().filter(|it| it.run == index && !it.restates).collect();
        (!rows.is_empty()).then(|| (format!("{} against {base}:", run.name), table(&rows)))
    };
    (0..).zip(&comparison.runs).skip(1).filter_map(of_run).collect()
}

fn table(rows: &[&ComparedObservation]) -> Table {
    let has_workloads = rows.iter().any(|row| row.workload.is_some());
    let line = |row: &&ComparedObservation| {
        let arms = match (&row.base_arm, &row.against) {
            (Some(base), _) => format!("{} / {base}", row.arm),
            (None, Some(against)) => format!("{} / {against}", row.arm),
            (None, None) => row.arm.clone(),
        };
        let cells = [
            name(row),
            arms,
            quantity(row.metric, &row.base, &row.unit),
            quantity(row.metric, &row.value, &row.unit),
            ratio(&row.ratio),
            interval(&row.ratio),
            row.answer.name().to_owned(),
        ];
        let workload = has_workloads.then(|| row.workload.clone().unwrap_or_default());
        workload.into_iter().chain(cells).collect()
    };
    let names = ["metric", "arm", "base", "run", "run / base", "interval", "answer"];
    let header = has_workloads.then_some("workload").into_iter().chain(names);
    Table { header: header.map(str::to_owned).collect(), rows: rows.iter().map(line).collect() }
}

/// Name of a row: its source where it was not measured, the metric, and what that counts.
pub fn name(row: &ComparedObservation) -> String {
    let of = row.of.as_ref().map(|it| format!(" of {it}")).unwrap_or_default();
    format!("{}{}{of}", row.source.prefix(), row.metric.name())
}

/// A value with its unit and half the width of its interval.
pub fn quantity(metric: Metric, estimate: &Estimate, plain_unit: &str) -> String {
    let value = estimate.value;
    let text = match plain_unit {
        "1" => return ratio(estimate),
        "s" => seconds(value),
        "J/operation" => joules(value),
        _ if metric == Metric::Figure => format!("{} {}", three_digits(value), unit(plain_unit)),
        _ => match value {
            1e9.. => format!("{} G {plain_unit}", three_digits(value * 1e-9)),
            1e6.. => format!("{} M {plain_unit}", three_digits(value * 1e-6)),
            1e4.. => format!("{} k {plain_unit}", three_digits(value * 1e-3)),
            _ => format!("{} {plain_unit}", three_digits(value)),
        },
    };
    with_half_width(text.replace(' ', NO_BREAK), estimate)
}

/// Observations that could not be compared, equal reasons joined.
pub fn not_compared(comparison: &RunComparison) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for refused in &comparison.not_compared {
        match reasons.iter_mut().find(|(reason, _)| *reason == refused.reason) {
            Some((_, whats)) => whats.push(&refused.what),
            None => reasons.push((&refused.reason, vec![&refused.what])),
        }
    }
    reasons
        .into_iter()
        .map(|(reason, mut whats)| {
            let mut seen = BTreeSet::new();
            whats.retain(|what| seen.insert(*what));
            format!("{}: {reason}.", whats.join(", "))
        })
        .collect()
}

/// Method of the comparison, on one line.
pub fn method(comparison: &RunComparison) -> String {
    let counted = || comparison.observations.iter().filter(|row| !row.restates);
    let mut ways: Vec<Pairing> = Vec::new();
    for row in counted() {
        if !ways.contains(&row.pairing) {
            ways.push(row.pairing);
        }
    }
    let words = |way: &Pairing| {
        let rows = || counted().filter(|row| row.pairing == *way);
        match way {
            Pairing::BetweenRuns => {
                let runs = rows().map(|row| row.earlier_runs).min().unwrap_or(0);
                let deviation = rows().filter_map(|row| row.run_deviation).fold(0.0, f64::max);
                format!(
                    "{}: {}, standard deviation between equal runs at most {}",
                    way.name(),
                    plural(runs as usize, "earlier run"),
                    percent(deviation)
                )
            }
            other => other.name().to_owned(),
        }
    };
    let ways: Vec<String> = ways.iter().map(words).collect();
    format!(
        "{}. All intervals hold together at {} ({}).",
        ways.join("; "),
        percent(comparison.confidence),
        plural(comparison.comparisons as usize, "comparison")
    )
}
