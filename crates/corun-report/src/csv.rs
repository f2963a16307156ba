//! Observations as CSV, one a row, for spreadsheets and plots.

use corun_record::{Bench, CsvText, Observation, Run, Workload};

const HEADER: [&str; 14] = [
    "workload",
    "cpu_model",
    "metric",
    "arm",
    "against",
    "unit",
    "value",
    "low",
    "high",
    "level",
    "blocks",
    "source",
    "parameters",
    "of",
];

/// A run's observations as CSV with a header line.
pub fn to_csv(run: &Run) -> String {
    rows([run])
}

/// The observations of all runs of a bench as CSV with a header line.
pub fn bench_to_csv(bench: &Bench) -> String {
    rows(&bench.runs)
}

fn rows<'a>(runs: impl IntoIterator<Item = &'a Run>) -> String {
    let mut table = CsvText::with_header(HEADER);
    for run in runs {
        for seen in &run.observations {
            table.row(row(run, seen));
        }
    }
    table.finish()
}

/// Parameters of a built-in workload, in one field.
pub(crate) fn parameters(workload: &Workload) -> String {
    let assignments = workload.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    assignments.collect::<Vec<_>>().join(" ")
}

/// The columns of an observation: metric, arm, against, unit, value, low, high and level.
pub(crate) fn figure(seen: &Observation) -> [String; 8] {
    let metric = serde_json::to_value(seen.metric).unwrap_or_default();
    [
        metric.as_str().unwrap_or_default().to_owned(),
        seen.arm.clone(),
        seen.against.clone().unwrap_or_default(),
        seen.unit.clone(),
        seen.estimate.value.to_string(),
        seen.estimate.low.to_string(),
        seen.estimate.high.to_string(),
        seen.estimate.level.to_string(),
    ]
}

fn row(run: &Run, seen: &Observation) -> [String; 14] {
    let source = serde_json::to_value(seen.source).unwrap_or_default();
    let [metric, arm, against, _, value, low, high, level] = figure(seen);
    [
        run.workload.title(),
        run.machine.cpu_model.clone().unwrap_or_default(),
        metric,
        arm,
        against,
        run.workload.unit_of(seen),
        value,
        low,
        high,
        level,
        seen.estimate.blocks.to_string(),
        source.as_str().unwrap_or_default().to_owned(),
        parameters(&run.workload),
        seen.of.clone().unwrap_or_default(),
    ]
}
