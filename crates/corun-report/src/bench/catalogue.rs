//! The built-in workloads in words: one line each, or one of them in full.

use corun_workload::{DefaultPlacement, Descriptor, Domain, Figure, Mode, Parameter, Workload};

use super::memory_hierarchy::size_text;
use crate::tables::Table;
use crate::terminal::{grid, wrap};

/// A line for each workload: its name, what it does and what it exercises.
pub fn list<'a>(workloads: impl Iterator<Item = &'a dyn Workload>, columns: u16) -> String {
    let mut missing = String::new();
    let rows = workloads.map(|workload| {
        let descriptor = workload.descriptor();
        if let Some(reason) = workload.unavailable() {
            missing.push_str(&wrap(&format!("- {}: {reason}", descriptor.name), "  ", columns));
        }
        vec![descriptor.name.to_owned(), descriptor.summary.to_owned(), tags(descriptor)]
    });
    let header = ["workload", "what it does", "what it exercises"].map(str::to_owned).to_vec();
    let table = Table { header, rows: rows.collect() };
    let mut text = format!("{}\n", grid(&table, columns));
    if !missing.is_empty() {
        text.push_str(&format!("\nNot possible here:\n{missing}"));
    }
    text
}

/// A workload in full: what it is and what can be set.
pub fn describe(workload: &dyn Workload, columns: u16) -> String {
    let descriptor = workload.descriptor();
    let mut text = wrap(&format!("{}: {}", descriptor.name, descriptor.summary), "  ", columns);
    text.push('\n');
    let facts = [
        ("operation", descriptor.operation.to_owned()),
        ("exercises", tags(descriptor)),
        ("workers", workers(descriptor.default_mode).to_owned()),
        ("shown by", shown_by(descriptor.default_placement).to_owned()),
    ];
    for (name, fact) in facts {
        text.push_str(&wrap(&format!("{name:<11}{fact}"), "           ", columns));
    }
    for (name, fact) in details(descriptor) {
        text.push_str(&wrap(&format!("{name:<11}{fact}"), "           ", columns));
    }
    if descriptor.disk_bytes > 0 {
        let most = size_text(descriptor.disk_bytes);
        text.push_str(&format!("disk       at most {most} of temporary files for each worker\n"));
    }
    if let Some(reason) = workload.unavailable() {
        text.push_str(&wrap(&format!("not here   {reason}"), "           ", columns));
    }
    if !descriptor.parameters.is_empty() {
        text.push_str("\nparameters (--param NAME=VALUE), with their defaults:\n");
    }
    for parameter in descriptor.parameters {
        text.push_str(&self::parameter(parameter, columns));
    }
    if let Some(sharing) = descriptor.line_sharing {
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

/// What a row of a suite says of itself, and what else is counted and subtracted.
fn details(descriptor: &Descriptor) -> Vec<(&'static str, String)> {
    let row = descriptor.row.iter().flat_map(|row| {
        let figure = match row.figure {
            Figure::Microseconds => "microseconds an operation",
            Figure::Rate { unit, .. } => unit,
        };
        let counts = (row.credit != 1.0)
            .then(|| ("original", format!("counts {:.4} operations for each one", row.credit)));
        [Some(("row", format!("\"{}\" of {}, in {figure}", row.name, row.suite.name()))), counts]
    });
    let tallies: Vec<&str> = descriptor.tallies.iter().map(|tally| tally.counted).collect();
    let tallies = (!tallies.is_empty()).then(|| ("counts too", tallies.join(", ")));
    let least = descriptor.least_operations;
    let least = (least > 1).then(|| ("at least", format!("{least} operations a worker and run")));
    let subtracts = descriptor.subtracts.map(|what| ("subtracts", what.to_owned()));
    row.flatten().chain(tallies).chain(least).chain(subtracts).collect()
}

fn parameter(parameter: &Parameter, columns: u16) -> String {
    let (name, default) = (parameter.name, parameter.default);
    let mut text = wrap(&format!("  {name}={default}  {}", parameter.summary), "    ", columns);
    match parameter.domain {
        Domain::Choice(choices) => {
            for choice in choices {
                let line = format!("    {}: {}", choice.value, choice.summary);
                text.push_str(&wrap(&line, "      ", columns));
            }
        }
        domain => text.push_str(&wrap(&format!("    {domain}"), "    ", columns)),
    }
    text
}

fn tags(descriptor: &Descriptor) -> String {
    descriptor.tags.iter().map(|tag| tag.name()).collect::<Vec<_>>().join(", ")
}

fn workers(mode: Mode) -> &'static str {
    match mode {
        Mode::Copies => "a process for each",
        Mode::Workers => "threads of one process, with work for each",
        Mode::WorkersTotal => "threads of one process, which do a fixed total together",
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
