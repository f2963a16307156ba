//! An audit for the terminal and as CSV: property, expected, observed, figure, verdict.

use corun_record::{
    Audit, AuditPropertyList, AuditRow, AuditVerdict, CsvText, EvidenceSource, Metric, Observation,
};

use crate::figures::seconds;
use crate::prose::{machine, plural};
use crate::tables::Table;
use crate::terminal::{NO_BREAK, grid, section, wrap};

/// The observations that are shown for each number of tasks.
const FREE: &str = "free@";

/// The properties that can be audited, and why some cannot be shown here.
pub fn list_audit_properties(list: &AuditPropertyList, columns: u16) -> String {
    let properties = &list.properties;
    let widest = properties.iter().map(|property| property.name.len()).max().unwrap_or(0);
    let indent = " ".repeat(widest + 2);
    let mut text = String::new();
    for property in properties {
        let rarely = if property.is_by_name_only { " (with --only alone)" } else { "" };
        let line = format!("{:widest$}  {}{rarely}", property.name, property.question);
        text += &wrap(&line, &indent, columns);
        if let Some(why) = &property.not_possible {
            text += &wrap(&format!("{indent}not possible here: {why}"), &indent, columns);
        }
    }
    text
}

/// The audit as text for a terminal of this many columns.
pub fn audit_to_terminal(audit: &Audit, columns: u16) -> String {
    let kernel = audit.machine.kernel.as_deref().unwrap_or("of unknown release");
    let mut text = wrap(&format!("The scheduler of Linux {kernel}"), "", columns);
    text += &wrap(&machine(&audit.machine), "", columns);
    if let Some(pinned_to) = &audit.pinned_to {
        let cpus: Vec<String> = pinned_to.iter().map(u32::to_string).collect();
        text += &wrap(&format!("Free loads pinned to CPUs {}", cpus.join(",")), "", columns);
    }
    text.push('\n');
    if audit.ending.is_interrupted() {
        text += "PARTIAL RESULT: the audit was cut short.\n\n";
    }
    text += &format!("{}\n", grid(&properties(audit), columns));
    let shares = shares(audit);
    if !shares.rows.is_empty() {
        text += &format!("\n{}\n", grid(&shares, columns));
    }
    let is_possible = |row: &&AuditRow| row.verdict != AuditVerdict::NotPossible;
    let (possible, not_possible): (Vec<_>, Vec<_>) = audit.rows.iter().partition(is_possible);
    section(&mut text, "Not settled", reasons(&possible), columns);
    section(&mut text, "Not possible here", reasons(&not_possible), columns);
    let caveats = audit.caveats.iter().map(|caveat| caveat.sentence.clone()).collect();
    section(&mut text, "What limits trust", caveats, columns);
    text.push('\n');
    text + &wrap(&course(audit), "", columns)
}

fn properties(audit: &Audit) -> Table {
    let row = |row: &AuditRow| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            row.property.clone(),
            text(&row.expected),
            text(&row.observed),
            row.observations.first().map_or_else(|| "-".to_owned(), figure),
            row.verdict.name().replace(' ', NO_BREAK),
        ]
    };
    let header = ["property", "expected", "observed", "figure (95 %)", "verdict"];
    Table { header: header.map(str::to_owned).to_vec(), rows: audit.rows.iter().map(row).collect() }
}

/// Why rows are not clear, equal reasons joined.
fn reasons(rows: &[&AuditRow]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        let Some(reason) = row.reason.as_deref() else { continue };
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, properties)) => properties.push(&row.property),
            None => reasons.push((reason, vec![&row.property])),
        }
    }
    let line =
        |(reason, properties): (&str, Vec<&str>)| format!("{}: {reason}", properties.join(", "));
    reasons.into_iter().map(line).collect()
}

/// The value with its interval: `4.2 % (0.0 % to 9.1 %)`.
fn figure(seen: &Observation) -> String {
    let it = &seen.estimate;
    let show = |value: f64| amount(seen, value);
    format!("{} ({} to {})", show(it.value), show(it.low), show(it.high))
}

fn amount(seen: &Observation, value: f64) -> String {
    match seen.metric {
        Metric::TimeShare | Metric::LeastShare => share(value),
        Metric::Latency => seconds(value),
        Metric::Rate => format!("{value:.1}/s"),
        _ => format!("{value:.2}"),
    }
    .replace(' ', NO_BREAK)
}

fn share(value: f64) -> String {
    match value.min(1.0) * 100.0 {
        percent if percent == 0.0 || percent >= 99.95 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// Share of a CPU of each of N tasks, and the one that got least: a row for each N.
fn shares(audit: &Audit) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let cpus = audit.pinned_to.as_ref().map_or(audit.machine.allowed_cpus as usize, Vec::len);
    for row in &audit.rows {
        // The figure that is judged is of the worst number of tasks; those of each number follow.
        for seen in row.observations.iter().filter(|it| it.metric == Metric::LeastShare).skip(1) {
            let Some(tasks) = seen.arm.strip_prefix(FREE).and_then(|it| it.parse::<usize>().ok())
            else {
                continue;
            };
            let is_mean = |it: &&Observation| it.metric == Metric::TimeShare && it.arm == seen.arm;
            let Some(mean) = row.observations.iter().find(is_mean) else { continue };
            let expected = (cpus as f64 / tasks as f64).min(1.0);
            rows.push(vec![
                format!("{tasks} on {cpus}"),
                share(expected),
                share(mean.estimate.value),
                share(mean.estimate.value * seen.estimate.value),
                figure(seen),
            ]);
        }
    }
    let header = ["busy tasks", "of a CPU each", "mean", "least", "least of the mean (95 %)"];
    Table { header: header.map(str::to_owned).to_vec(), rows }
}

/// Course of the audit in one line.
fn course(audit: &Audit) -> String {
    let evidence_source = match audit.evidence_source {
        EvidenceSource::ContextSwitches => "other tasks accounted for by context switches",
        EvidenceSource::Accounts => "other tasks accounted for by CPU times",
    };
    let (elapsed, seed) = (seconds(audit.elapsed_s), audit.seed);
    format!(
        "{} in {elapsed}, seed {seed}; {evidence_source}.",
        plural(audit.rounds as usize, "round")
    )
}

const HEADER: [&str; 14] = [
    "property", "expected", "observed", "verdict", "figure", "arm", "unit", "value", "low", "high",
    "level", "rounds", "kernel", "reason",
];

/// The audit as CSV with a header line: a row for each figure, the one that is judged first.
pub fn audit_to_csv(audit: &Audit) -> String {
    let mut table = CsvText::with_header(HEADER);
    for row in &audit.rows {
        let figures = row.observations.iter().map(Some);
        let none = row.observations.is_empty().then_some(None);
        for seen in figures.chain(none) {
            table.row(record(audit, row, seen));
        }
    }
    table.finish()
}

fn record(audit: &Audit, row: &AuditRow, seen: Option<&Observation>) -> [String; 14] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let of = |part: fn(&Observation) -> String| seen.map(part).unwrap_or_default();
    [
        row.property.clone(),
        text(&row.expected),
        text(&row.observed),
        row.verdict.name().to_owned(),
        of(|it| it.of.clone().unwrap_or_default()),
        of(|it| it.arm.clone()),
        of(|it| it.unit.clone()),
        of(|it| it.estimate.value.to_string()),
        of(|it| it.estimate.low.to_string()),
        of(|it| it.estimate.high.to_string()),
        of(|it| it.estimate.level.to_string()),
        of(|it| it.estimate.blocks.to_string()),
        text(&audit.machine.kernel),
        text(&row.reason),
    ]
}

#[cfg(test)]
mod tests;
