//! Whole programs from committed traces, beside the cycles that were measured natively on each core.

use std::path::{Path, PathBuf};
use std::process::Command;

use corun_model::PredictionErrors;
use corun_model::timing::TimingTable;
use corun_predict::{predict_trace, with_error};
use corun_record::{Estimate, PageSize};
use corun_trace::format::Trace;

use super::compact::compact;
use super::figures::{Figure, Kind, Set, summaries};
use crate::inputs::Inputs;
use crate::measured::{Measured, Recorded};
use crate::predicted::SAME_HASHES;
use crate::programs::programs;

/// Cores on which programs were measured.
pub(crate) const CORES: [&str; 2] = ["zen4", "zen5"];
/// Programs of the pages; others have traces that are large.
const PROGRAMS: [&str; 12] = [
    "gzip", "bash", "python", "perl", "sqlite3", "sort", "bzip2", "awk", "matmul", "branchy",
    "hash", "json",
];
/// Windows of a trace, and instructions of each and of the warm-up before it.
const WINDOWS: &str = "6:20k";
const WARM_UP: &str = "60k";

/// A committed trace and what was measured of its program on a core.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) program: &'static str,
    pub(crate) core: &'static str,
    measured: Measured,
}

/// Each program on each core.
///
/// # Errors
/// If nothing was measured of one.
pub(crate) fn recordings() -> Result<Vec<Recording>, String> {
    let mut all = Vec::new();
    for core in CORES {
        let mut recorded = Recorded::read(&Recorded::of_core(core))?;
        for program in PROGRAMS {
            let measured = recorded.programs.remove(program);
            let measured =
                measured.ok_or_else(|| format!("{program} was not measured on {core}"))?;
            all.push(Recording { program, core, measured });
        }
    }
    Ok(all)
}

impl Recording {
    /// Predicted over measured cycles with the interval that is printed, with the memory that was found when it was measured.
    ///
    /// # Errors
    /// If the trace cannot be predicted, or is of another program.
    pub(crate) fn predict(&self) -> Result<Estimate, String> {
        let Self { program, core, measured } = self;
        let failed = |reason: String| format!("{program} on {core}: {reason}");
        let trace = Trace::open(&file(program)).map_err(|error| failed(error.to_string()))?;
        let settings =
            measured.memory.iter().map(|(field, value)| (field.clone(), value.to_string()));
        let model = corun_model::find(core).and_then(|it| it.with(&settings.collect::<Vec<_>>()));
        let model = model.map_err(|error| failed(error.to_string()))?;
        let timings = TimingTable::of(&model).map_err(|error| failed(error.to_string()))?;
        let found = predict_trace(&trace, (&model, &timings), PageSize::Small);
        let found = found.map_err(|error| failed(error.to_string()))?;
        measured.is_of(found.instructions as f64).map_err(failed)?;
        let (_, error) = PredictionErrors::committed().of_cycles(core);
        Ok(with_error(&found.cycles, error).scaled(1.0 / measured.cycles))
    }
}

/// The ratios of each core, with their summaries.
pub(super) fn sets(recordings: &[Recording], ratios: &[f64]) -> Vec<Set> {
    let of_core = |core: &str| {
        let own = recordings.iter().zip(ratios).filter(|(recording, _)| recording.core == core);
        let figure = |(recording, &now): (&Recording, &f64)| Figure {
            name: recording.program.to_owned(),
            kind: Kind::Row,
            ideal: 1.0,
            now,
        };
        let mut figures: Vec<Figure> = own.map(figure).collect();
        figures.extend(summaries(&figures));
        Set { name: format!("programs on {core}"), figures }
    };
    CORES.into_iter().map(of_core).collect()
}

/// Records these programs, or all.
///
/// # Errors
/// If one cannot be traced.
pub(super) fn record(corun: &Path, names: &[String]) -> Result<(), String> {
    let inputs = Inputs::make().map_err(|error| format!("the programs' inputs: {error}"))?;
    for program in programs(&inputs, corun) {
        let is_asked = names.is_empty() || names.contains(&program.name);
        if !is_asked || !PROGRAMS.contains(&&*program.name) {
            continue;
        }
        let mut command = Command::new(corun);
        command.args(["trace", "--sample", WINDOWS, "--choose", "--warmup", WARM_UP]);
        command.arg("--output").arg(file(&program.name)).arg("--").args(&program.command);
        let status = command.envs(SAME_HASHES).stdout(std::process::Stdio::null()).status();
        match status {
            Ok(status) if status.success() => compact(&file(&program.name))?,
            Ok(status) => return Err(format!("{}: {status}", program.name)),
            Err(error) => return Err(format!("{}: {error}", corun.display())),
        }
    }
    Ok(())
}

fn file(program: &str) -> PathBuf {
    super::folder().join(format!("programs/{program}.trace"))
}
