//! Published SMT yields beside predicted ones.
//!
//! Each row's program is traced here, and one window of it simulated in two placements on the core that the publication
//! used. Nothing is measured: any machine gives the same page but for what its programs are.

mod page;
mod records;
mod rows;
mod sensitivity;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use corun_predict::with_model_error;
use corun_record::{Document, Estimate, Metric, PlacementComparison, Placements, Record};
use tempfile::TempDir;

use crate::inputs::Inputs;
use crate::windows::keep_addresses;
pub(crate) use page::{HELPS, of_hardware, page, tables};
pub(crate) use records::{Measured, own_folder, predict as predict_measured, read as read_records};
#[cfg(test)]
pub(crate) use rows::Clock;
pub(crate) use rows::{Listed, Row, Side};
use rows::{Program, Ratio};
use sensitivity::{Case, Sensitivity};

/// A row, and what is predicted for it or why nothing is.
pub(crate) struct Predicted {
    pub row: Row,
    pub outcome: Result<Yield, String>,
}

impl Predicted {
    /// The yield of cycles, and that of seconds with the interval that `corun predict` prints.
    ///
    /// # Errors
    /// Why nothing is predicted.
    pub(crate) fn both(&self) -> Result<(f64, Estimate), String> {
        let found = self.outcome.clone()?;
        let printed = self.row.a_second(&with_model_error(SIBLINGS, &found.estimate()))?;
        Ok((found.mean, printed))
    }
}

/// Hardware threads of a core of every row.
const SIBLINGS: u32 = 2;

/// A predicted yield of cycles with its range over phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Yield {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Yield {
    /// The range of phases as an interval.
    pub(crate) fn estimate(self) -> Estimate {
        let Self { mean: value, low, high } = self;
        Estimate { value, low, high, level: 0.95, blocks: 1 }
    }
}

/// Instructions that are recorded for a page.
const RECORDED: &str = "3M";

/// How much is simulated for a yield.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Instructions that warm up, and that are counted.
    pub warm_up: &'static str,
    pub counted: &'static str,
    /// Places of the window at which copies begin.
    pub phases: &'static str,
    /// The time slice of copies that take turns, in milliseconds.
    pub slice: &'static str,
}

/// For a figure that is published beside another one.
const WHOLE: Extent = Extent { warm_up: "1M", counted: "1M", phases: "4", slice: "3" };
/// What this library would choose on the machine that traces, and the modelled cores do not have.
const TUNABLES: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW");

/// The rows whose program or model is among `names`, or all of them, predicted on models with these fields set; and what other
/// values of assumed figures change, if `is_varied`.
///
/// # Errors
/// If the list cannot be read, or there is no room for traces.
pub(crate) fn predict(
    corun: &Path,
    names: &[String],
    settings: &[String],
    is_varied: bool,
) -> Result<(Vec<Predicted>, Vec<Sensitivity>), String> {
    let listed = Listed::read()?;
    keep_addresses()?;
    let mut traces = Traces::new(corun, &listed)?;
    let is_asked = |program: &String, model: &String| {
        names.is_empty() || names.iter().any(|name| [program, model].contains(&name))
    };
    let rows = listed.rows.iter().filter(|row| is_asked(&row.program, &row.model));
    let rows = rows.map(|row| predict_row(&mut traces, row, settings)).collect();
    let cases = if is_varied { sensitivity::cases(&listed) } else { Vec::new() };
    let cases = cases.into_iter().filter(|case| is_asked(&case.program, &case.model));
    let varied = cases.filter_map(|case| vary(&mut traces, case, settings)).collect();
    Ok((rows, varied))
}

fn predict_row(traces: &mut Traces<'_>, row: &Row, settings: &[String]) -> Predicted {
    eprintln!("{} on {}", row.program, row.model);
    let trace = traces.of(&row.program);
    let outcome = trace.and_then(|trace| simulate(traces.corun, row, &trace, settings, WHOLE));
    match &outcome {
        Ok(Yield { mean, .. }) => eprintln!("  {mean:.3}, published {}", row.published),
        Err(reason) => eprintln!("  {reason}"),
    }
    Predicted { row: row.clone(), outcome }
}

/// What other values of assumed figures change; nothing if the program cannot be simulated as the model is, which is said.
fn vary(traces: &mut Traces<'_>, case: Case, settings: &[String]) -> Option<Sensitivity> {
    eprintln!("what {} assumes, by {}", case.model, case.program);
    let trace = traces.of(&case.program);
    let shifts = trace.and_then(|it| sensitivity::shifts(traces.corun, &case, &it, settings));
    match shifts {
        Ok(shifts) => Some(Sensitivity { case, shifts }),
        Err(reason) => {
            eprintln!("  {reason}");
            None
        }
    }
}

/// Traces of programs, each made when it is first asked for.
pub(crate) struct Traces<'c> {
    corun: &'c Path,
    listed: &'c Listed,
    inputs: Inputs,
    folder: TempDir,
    made: BTreeMap<String, Result<PathBuf, String>>,
}

impl<'c> Traces<'c> {
    /// # Errors
    /// If there is no room for traces.
    pub(crate) fn new(corun: &'c Path, listed: &'c Listed) -> Result<Self, String> {
        let inputs = Inputs::make().map_err(|error| format!("the programs' inputs: {error}"))?;
        let folder =
            tempfile::tempdir().map_err(|error| format!("a folder for traces: {error}"))?;
        Ok(Self { corun, listed, inputs, folder, made: BTreeMap::new() })
    }

    fn of(&mut self, program: &str) -> Result<PathBuf, String> {
        if let Some(made) = self.made.get(program) {
            return made.clone();
        }
        let program =
            self.listed.program(program).ok_or_else(|| "its program is not listed".to_owned())?;
        let file = self.folder.path().join(format!("{}.trace", self.made.len()));
        let made = self.record(program, &file, RECORDED).map(|()| file);
        self.made.insert(program.name.clone(), made.clone());
        made
    }

    /// Records so many instructions of a program.
    ///
    /// # Errors
    /// If it cannot be traced.
    pub(crate) fn record(
        &self,
        program: &Program,
        file: &Path,
        length: &str,
    ) -> Result<(), String> {
        let mut command = Command::new(self.corun);
        command.args(["trace", "--quiet", "--length", length, "--output"]).arg(file);
        command.env(TUNABLES.0, TUNABLES.1);
        match &program.skip {
            Some(skip) => command.args(["--once", "--skip", skip]),
            None => command.args(["--from-call", "getppid"]),
        };
        command.arg("--");
        match &program.kernel {
            Some(kernel) => {
                let own = std::env::current_exe().map_err(|error| error.to_string())?;
                command.arg(own).args(["--kernel", kernel]);
            }
            None => {
                command.args(program.command.iter().map(|word| self.filled_in(word)));
            }
        }
        said(command).map(|_| ())
    }

    fn filled_in(&self, word: &str) -> OsString {
        match word {
            "{corun}" => self.corun.into(),
            other => self.inputs.filled_in(other),
        }
    }
}

/// What a command writes, or the first line of why it failed.
fn said(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let reason = String::from_utf8_lossy(&output.stderr);
            Err(reason.lines().next().unwrap_or("it failed without a word").to_owned())
        }
    }
}

/// The yield of a row from a trace of its program.
///
/// # Errors
/// If it cannot be simulated, or makes no sense.
pub(crate) fn simulate(
    corun: &Path,
    row: &Row,
    trace: &Path,
    settings: &[String],
    extent: Extent,
) -> Result<Yield, String> {
    let others = format!("hierarchy.load_of_others={}", row.others);
    let settings = [&[others][..], settings].concat();
    simulated_yield(corun, &row.model, row.ratio, &[trace.to_owned()], &settings, extent)
}

/// The yield of a trace beside copies of itself, or of two beside each other.
fn simulated_yield(
    corun: &Path,
    model: &str,
    ratio: Ratio,
    traces: &[PathBuf],
    settings: &[String],
    extent: Extent,
) -> Result<Yield, String> {
    let placements = simulated(corun, model, ratio, traces, settings, extent, &[])?;
    let metric = match ratio {
        Ratio::FullToSpread => Metric::SmtYield,
        Ratio::FullToStacked => Metric::MultitaskingGain,
    };
    let mut found = placements.comparisons.iter().filter(|one| one.metric == metric);
    match found.next() {
        Some(&PlacementComparison { mean, low, high, .. }) => Ok(Yield { mean, low, high }),
        None => Err("the simulated yield is implausible".to_owned()),
    }
}

/// The two placements that a ratio compares, with further options of `corun simulate`.
fn simulated(
    corun: &Path,
    model: &str,
    ratio: Ratio,
    traces: &[PathBuf],
    settings: &[String],
    extent: Extent,
    options: &[&str],
) -> Result<Placements, String> {
    let placements = match ratio {
        Ratio::FullToSpread => "spread,full",
        Ratio::FullToStacked => "stacked,full",
    };
    let mut command = Command::new(corun);
    command.env("CORUN_STORE", "");
    command.args(["simulate", "--quiet", "--json=-", "--model", model]);
    command.args(["--placement", placements, "--warmup", extent.warm_up]);
    command.args(["--length", extent.counted, "--phases", extent.phases]);
    command.args(["--slice", extent.slice]).args(options);
    command.args(settings.iter().map(|setting| format!("--set={setting}"))).args(traces);
    // The page names no folder of this machine.
    let without_folder = |mut reason: String| {
        for trace in traces {
            reason = reason.replace(&*trace.to_string_lossy(), "the trace");
        }
        reason
    };
    let text = said(command).map_err(without_folder)?;
    let record = Record::<Placements>::from_json(&text).map_err(|error| error.to_string())?;
    Ok(record.body)
}
