//! A row: what `corun predict` says of a program.

use std::path::Path;
use std::process::Command;

use corun_record::{Document, Estimate, Metric, Prediction, Source};

use crate::Arguments;
use crate::programs::Program;

/// A program and what came of it.
pub struct Row {
    pub program: Program,
    pub outcome: Result<Prediction, String>,
}

impl Row {
    /// Predicted over measured cycles, where the program is both.
    pub fn ratio(&self) -> Option<Estimate> {
        let prediction = self.outcome.as_ref().ok()?;
        prediction.estimate(Metric::PredictedToMeasured, Source::Predicted).copied()
    }

    /// How far the prediction is off, as a share of what was measured.
    pub fn error(&self) -> Option<f64> {
        self.ratio().map(|ratio| (ratio.value - 1.0).abs())
    }
}

/// Predicts and measures a program, unless its prediction was kept before.
pub fn predict(
    corun: &Path,
    program: &Program,
    arguments: &Arguments,
) -> Result<Prediction, String> {
    let kept = arguments.keep.as_ref().map(|folder| folder.join(format!("{}.json", program.name)));
    if let Some(text) = kept.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) {
        return Prediction::from_json(&text).map_err(|error| error.to_string());
    }
    let mut options = vec![format!("--budget={}s", arguments.seconds)];
    options.extend(arguments.model.iter().map(|model| format!("--model={model}")));
    let text = said(corun, program, &options)?;
    if let Some(path) = kept {
        std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Prediction::from_json(&text).map_err(|error| error.to_string())
}

/// With these, tables of CPython and Perl lie alike in each run: what is predicted is what is measured.
const SAME_HASHES: [(&str, &str); 3] =
    [("PYTHONHASHSEED", "0"), ("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")];

/// What `corun predict` says of it with these options, as JSON.
pub fn said(corun: &Path, program: &Program, options: &[String]) -> Result<String, String> {
    let mut command = Command::new(corun);
    command.args(["predict", "--quiet", "--json=-"]).args(options);
    command.args(program.from_call.map(|call| format!("--from-call={call}")));
    command.arg("--").args(&program.command).envs(SAME_HASHES);
    let told = command.output().map_err(|error| format!("{}: {error}", corun.display()))?;
    match told.status.success() {
        true => Ok(String::from_utf8_lossy(&told.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&told.stderr).trim().to_owned()),
    }
}
