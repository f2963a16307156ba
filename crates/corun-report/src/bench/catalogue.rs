//! The built-in workloads in words: one line each, or one of them in full.

use corun_record::{
    DefaultMode, DefaultPlacement, ParameterDomain, RowFigure, WorkloadDescription, WorkloadList,
    WorkloadParameter,
};

use crate::figures::size_text;
use crate::tables::Table;
use crate::terminal::{grid, wrap};

/// A line for each workload: its name, what it does and what it exercises.
pub fn list_workloads(list: &WorkloadList, columns: u16) -> String {
    let row =
        |it: &WorkloadDescription| vec![it.name.clone(), it.summary.clone(), it.tags.join(", ")];
    let header = ["workload", "what it does", "what it exercises"].map(str::to_owned).to_vec();
    let table = Table { header, rows: list.workloads.iter().map(row).collect() };
    let mut text = format!("{}\n", grid(&table, columns));
    let missing = |it: &WorkloadDescription| {
        let reason = it.unavailable.as_ref()?;
        Some(wrap(&format!("- {}: {reason}", it.name), "  ", columns))
    };
    let missing: String = list.workloads.iter().filter_map(missing).collect();
    if !missing.is_empty() {
        text.push_str(&format!("\nNot possible here:\n{missing}"));
    }
    text
}

/// A workload in full: what it is and what can be set.
pub fn describe_workload(workload: &WorkloadDescription, columns: u16) -> String {
    let mut text = wrap(&format!("{}: {}", workload.name, workload.summary), "  ", columns);
    text.push('\n');
    let facts = [
        ("operation", workload.operation.clone()),
        ("exercises", workload.tags.join(", ")),
        ("workers", workers(workload.default_mode).to_owned()),
        ("shown by", shown_by(workload.default_placement).to_owned()),
    ];
    for (name, fact) in facts.into_iter().chain(details(workload)) {
        text.push_str(&wrap(&format!("{name:<11}{fact}"), "           ", columns));
    }
    if workload.disk_bytes > 0 {
        let most = size_text(workload.disk_bytes);
        text.push_str(&format!("disk       at most {most} of temporary files for each worker\n"));
    }
    if let Some(reason) = &workload.unavailable {
        text.push_str(&wrap(&format!("not here   {reason}"), "           ", columns));
    }
    if !workload.parameters.is_empty() {
        text.push_str("\nparameters (--param NAME=VALUE), with their defaults:\n");
    }
    for it in &workload.parameters {
        text.push_str(&parameter(it, columns));
    }
    if let Some(sharing) = &workload.line_sharing {
        text.push('\n');
        text.push_str(&wrap(
            &format!(
                "Two workers share a cache line with {}={}, and have lines of their own with {}={}; as it comes, `corun measure` compares the two.",
                sharing.parameter, sharing.shared, sharing.parameter, sharing.own
            ),
            "",
            columns,
        ));
    }
    text
}

/// Details of a row of a suite, and what else is counted and subtracted.
fn details(workload: &WorkloadDescription) -> Vec<(&'static str, String)> {
    let row = workload.row.iter().flat_map(|row| {
        let figure = match &row.figure {
            RowFigure::Microseconds => "microseconds an operation",
            RowFigure::Rate { unit, .. } => unit,
        };
        let counts = (row.credit != 1.0)
            .then(|| ("original", format!("counts {:.4} operations for each one", row.credit)));
        [Some(("row", format!("\"{}\" of {}, in {figure}", row.name, row.suite))), counts]
    });
    let tallies: Vec<&str> = workload.tallies.iter().map(|it| it.counted.as_str()).collect();
    let tallies = (!tallies.is_empty()).then(|| ("counts too", tallies.join(", ")));
    let least = workload.least_operations;
    let least = (least > 1).then(|| ("at least", format!("{least} operations a worker and run")));
    let subtracts = workload.subtracts.clone().map(|what| ("subtracts", what));
    row.flatten().chain(tallies).chain(least).chain(subtracts).collect()
}

fn parameter(parameter: &WorkloadParameter, columns: u16) -> String {
    let WorkloadParameter { name, summary, default, domain, expected } = parameter;
    let mut text = wrap(&format!("  {name}={default}  {summary}"), "    ", columns);
    match domain {
        ParameterDomain::Choice(choices) => {
            for choice in choices {
                let line = format!("    {}: {}", choice.value, choice.summary);
                text.push_str(&wrap(&line, "      ", columns));
            }
        }
        _ => text.push_str(&wrap(&format!("    {expected}"), "    ", columns)),
    }
    text
}

fn workers(mode: DefaultMode) -> &'static str {
    match mode {
        DefaultMode::Copies => "a process for each",
        DefaultMode::Workers => "threads of one process, with work for each",
        DefaultMode::WorkersTotal => "threads of one process, which do a fixed total together",
    }
}

fn shown_by(default_placement: DefaultPlacement) -> &'static str {
    match default_placement {
        DefaultPlacement::Alone => "single: one worker alone",
        DefaultPlacement::Siblings => "spread and full: siblings idle, and at work",
        DefaultPlacement::Switched => {
            "stacked and full on one core: two workers taking turns on a logical CPU, and with one each"
        }
        DefaultPlacement::Crowd => {
            "free: one worker more than there are logical CPUs, counted over one window"
        }
    }
}
