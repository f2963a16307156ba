//! corun's side: one workload, as a user would run it.

use std::path::Path;
use std::process::Command;

use corun_record::{Bench, Document, Metric, Run};

use crate::program;

/// Runs one workload with a worker alone; each of its few runs takes about `seconds`.
///
/// # Errors
/// If corun cannot be built or started, or the workload does not run.
pub(crate) fn alone(workload: &str, parameters: &[String], seconds: f64) -> Result<Run, String> {
    let arguments = ["bench", "run", workload, "--placement=single"];
    let text = said(&arguments, parameters, seconds)?;
    let bench = Bench::from_json(&text).map_err(|error| format!("{error}:\n{text}"))?;
    if let Some(missing) = bench.not_possible.first() {
        return Err(format!("{}: {}", missing.workload, missing.reason));
    }
    bench.runs.into_iter().next().ok_or_else(|| format!("nothing was run:\n{text}"))
}

/// Runs so many workers wherever the kernel places them, each again and again until all have done a
/// window of about `seconds`, so that none is counted while others rest.
///
/// # Errors
/// As [`alone`].
pub(crate) fn steadily(
    workload: &str,
    parameters: &[String],
    workers: u32,
    seconds: f64,
) -> Result<Run, String> {
    let arms = format!("--placement=free@{workers}");
    let arguments = ["measure", "--workload", workload, &arms, "--steady"];
    let text = said(&arguments, parameters, seconds)?;
    Run::from_json(&text).map_err(|error| format!("{error}:\n{text}"))
}

fn said(arguments: &[&str], parameters: &[String], seconds: f64) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/corun");
    let mut command = Command::new(script);
    command.env("CORUN_STORE", "");
    command.args(arguments).args(["--blocks=2", "--quiet", "--json=-"]);
    command.args(parameters.iter().map(|parameter| format!("--param={parameter}")));
    command.arg(format!("--sample-time={}ms", (seconds * 1e3) as u64));
    program::output(&mut command)
}

/// The value of a metric, of what is counted where there are several.
///
/// # Errors
/// If the run has none.
pub(crate) fn value(run: &Run, metric: Metric, of: Option<&str>) -> Result<f64, String> {
    let is_it = |seen: &&corun_record::Observation| {
        seen.metric == metric && (of.is_none() || seen.of.as_deref() == of)
    };
    let found = run.observations.iter().find(is_it).map(|seen| seen.estimate.value);
    found.ok_or_else(|| format!("{} gives no {}", run.workload.name, metric.name()))
}
