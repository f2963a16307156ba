//! A row: what `corun predict` says of a program, beside what was measured of it.

use std::path::Path;
use std::process::Command;

use corun_record::{Document, Estimate, Metric, Prediction, Source};

use crate::Arguments;
use crate::measured::{Measured, Recorded};
use crate::programs::Program;

/// A program and the outcome of it.
pub(crate) struct Row {
    pub program: Program,
    pub outcome: Result<Outcome, String>,
}

/// What a program takes: said and seen.
pub(crate) struct Outcome {
    pub prediction: Prediction,
    pub measured: Option<Measured>,
}

impl Outcome {
    /// Predicted cycles.
    pub(crate) fn cycles(&self) -> Option<&Estimate> {
        self.prediction.estimate(Metric::Cycles, Source::Predicted)
    }

    /// Predicted over measured cycles, where the program is both. What was recorded before tells no spread of runs.
    pub(crate) fn ratio(&self) -> Option<Estimate> {
        let measured = self.measured.as_ref().filter(|it| it.too_much_kernel().is_none())?;
        let here = self.prediction.estimate(Metric::PredictedToMeasured, Source::Predicted);
        here.copied().or_else(|| {
            let cycles = self.cycles()?;
            let [value, low, high] =
                [cycles.value, cycles.low, cycles.high].map(|it| it / measured.cycles);
            Some(Estimate { value, low, high, ..*cycles })
        })
    }
}

impl Row {
    /// Predicted over measured cycles.
    pub(crate) fn ratio(&self) -> Option<Estimate> {
        self.outcome.as_ref().ok()?.ratio()
    }

    /// How far the prediction is off, as a share of what was measured.
    pub(crate) fn error(&self) -> Option<f64> {
        self.ratio().map(|ratio| (ratio.value - 1.0).abs())
    }

    /// True if fields of the model are set so that this one is predicted as it was.
    pub(crate) fn is_fitted(&self) -> bool {
        self.measured().is_some_and(|measured| measured.fitted)
    }

    /// What was measured.
    pub(crate) fn measured(&self) -> Option<&Measured> {
        self.outcome.as_ref().ok()?.measured.as_ref()
    }
}

/// Predicts a program and measures it.
pub(crate) fn predict(
    corun: &Path,
    program: &Program,
    arguments: &Arguments,
) -> Result<Outcome, String> {
    let mut options = vec![format!("--max-time={}s", arguments.seconds)];
    options.extend(arguments.model.iter().map(|model| format!("--model={model}")));
    let prediction = prediction(corun, program, arguments, &options)?;
    let measured = Measured::beside(&prediction);
    Ok(Outcome { prediction, measured })
}

/// Predicts a program that was measured before, with the memory that was found then.
pub(crate) fn predict_recorded(
    corun: &Path,
    program: &Program,
    arguments: &Arguments,
    recorded: &Recorded,
) -> Result<Outcome, String> {
    let found = recorded.programs.get(&program.name);
    let measured = found.ok_or_else(|| "nothing was recorded of it".to_owned())?;
    let mut options = vec!["--no-measure".to_owned(), format!("--model={}", recorded.model)];
    options.extend(measured.memory.iter().map(|(field, value)| format!("--set={field}={value}")));
    let prediction = prediction(corun, program, arguments, &options)?;
    if let Some(instructions) = prediction.estimate(Metric::Instructions, Source::Measured) {
        measured.is_of(instructions.value)?;
    }
    Ok(Outcome { prediction, measured: Some(measured.clone()) })
}

/// What `corun predict` says of it, unless that was kept before.
fn prediction(
    corun: &Path,
    program: &Program,
    arguments: &Arguments,
    options: &[String],
) -> Result<Prediction, String> {
    let kept = arguments.keep.as_ref().map(|folder| folder.join(format!("{}.json", program.name)));
    if let Some(text) = kept.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) {
        return Prediction::from_json(&text).map_err(|error| error.to_string());
    }
    let text = said(corun, program, options)?;
    if let Some(path) = kept {
        std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Prediction::from_json(&text).map_err(|error| error.to_string())
}

/// With these, tables of CPython and Perl lie alike in each run: what is predicted is what is measured.
pub(crate) const SAME_HASHES: [(&str, &str); 3] =
    [("PYTHONHASHSEED", "0"), ("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")];

/// What `corun predict` says of it with these options, as JSON.
pub(crate) fn said(corun: &Path, program: &Program, options: &[String]) -> Result<String, String> {
    let mut command = Command::new(corun);
    command.env("CORUN_STORE", "");
    command.args(["predict", "--quiet", "--json=-"]).args(options);
    command.args(program.from_call.map(|call| format!("--from-call={call}")));
    command.arg("--").args(&program.command).envs(SAME_HASHES);
    let output = command.output().map_err(|error| format!("{}: {error}", corun.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
