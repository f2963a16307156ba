//! corun's side: a bench of one workload, as a user would run it.

use std::path::Path;
use std::process::Command;

use corun_record::{Bench, Metric, Run};

use crate::program;

/// Runs one workload in one placement; each of its few runs takes about `seconds`.
///
/// # Errors
/// If corun cannot be built or started, or the workload does not run.
pub fn run(
    workload: &str,
    parameters: &[String],
    placement: &str,
    seconds: f64,
) -> Result<Run, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/corun");
    let mut command = Command::new(script);
    command.args(["bench", "run", workload, "--blocks=2", "--quiet", "--json=-"]);
    command.args(parameters.iter().map(|parameter| format!("--param={parameter}")));
    command.arg(format!("--placement={placement}"));
    command.arg(format!("--sample-time={}ms", (seconds * 1e3) as u64));
    let text = program::output(&mut command)?;
    let bench = Bench::from_json(&text).map_err(|error| format!("{error}:\n{text}"))?;
    if let Some(missing) = bench.missing.first() {
        return Err(format!("{}: {}", missing.workload, missing.reason));
    }
    bench.runs.into_iter().next().ok_or_else(|| format!("nothing was run:\n{text}"))
}

/// The value of a metric, of what is counted where there are several.
///
/// # Errors
/// If the run has none.
pub fn value(run: &Run, metric: Metric, of: Option<&str>) -> Result<f64, String> {
    let is_it = |seen: &&corun_record::Observation| {
        seen.metric == metric && (of.is_none() || seen.of.as_deref() == of)
    };
    let found = run.observations.iter().find(is_it).map(|seen| seen.estimate.value);
    found.ok_or_else(|| format!("{} gives no {}", run.workload.name, metric.name()))
}
