//! What was measured of a program, and what was found of the machine around it.
//!
//! It can be recorded: then code that comes later is put beside it where that machine is not available any more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corun_record::{MeasuredRun, MeasuredRuns, Metric, Prediction, Source};
use serde::{Deserialize, Serialize};

/// What was measured of one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    /// Millions that it executed, as far as is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_m: Option<f64>,
    /// In its own code.
    pub cycles: f64,
    /// Of all its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_share: Option<f64>,
    /// The share of probes in which somebody else took slots of the core, in the worst run that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention_share: Option<f64>,
    /// What was found of the machine in place of fields of the model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<String, f64>,
    /// True if fields of the model are set so that this is predicted as it was: its error says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fitted: bool,
}

/// A program that executes so much more or less is another one.
const SAME: f64 = 0.02;

impl Measured {
    /// What was measured beside a prediction; none if nothing was.
    pub(crate) fn beside(prediction: &Prediction) -> Option<Self> {
        let value = |metric| prediction.estimate(metric, Source::Measured).map(|it| it.value);
        let runs = &prediction.measured.as_ref()?.runs;
        Some(Self {
            instructions_m: value(Metric::Instructions).map(|it| it * 1e-6),
            cycles: value(Metric::Cycles)?,
            kernel_share: value(Metric::KernelShare),
            contention_share: runs
                .iter()
                .filter_map(|run| run.contention_share)
                .max_by(f64::total_cmp),
            memory: prediction.core.memory.iter().map(|it| (it.field.clone(), it.value)).collect(),
            fitted: false,
        })
    }

    /// True if nobody else took more of the core than a run may lose.
    pub(crate) fn had_core_to_itself(&self) -> bool {
        self.contention_share.is_none_or(|share| share <= MeasuredRun::MAX_CONTENTION_SHARE)
    }

    /// The kernel's share, where it is so large that nothing is predicted.
    pub(crate) fn too_much_kernel(&self) -> Option<f64> {
        self.kernel_share.filter(|&share| share > MeasuredRuns::MAX_KERNEL_SHARE)
    }

    /// Whether so many instructions are the same program's.
    ///
    /// # Errors
    /// If not, saying what was expected.
    pub(crate) fn is_of(&self, instructions: f64) -> Result<(), String> {
        let found = instructions * 1e-6;
        match self.instructions_m {
            Some(expected) if (found / expected - 1.0).abs() > SAME => Err(format!(
                "another program: {expected:.0} million instructions were measured, {found:.0} million found here"
            )),
            _ => Ok(()),
        }
    }
}

/// A page's measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recorded {
    /// What they were made on.
    pub machine: String,
    /// The model of its core.
    pub model: String,
    /// When.
    pub date: String,
    /// What else is to be known of it, in sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of each program.
    pub programs: BTreeMap<String, Measured>,
}

impl Recorded {
    /// The file that has what was recorded of the core of this model, if anything was.
    pub(crate) fn of_core(model: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
        folder.join(format!("{model}.toml"))
    }

    /// As recorded in a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no such file.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let parsed = text.and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()));
        parsed.map_err(|reason| {
            format!("{}: expected what `--record` writes, found {reason}", path.display())
        })
    }

    /// As [`read`](Self::read) takes it.
    ///
    /// # Errors
    /// If TOML cannot hold it.
    pub(crate) fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            instructions_m: Some(100.0),
            cycles: 5e7,
            kernel_share: None,
            contention_share: Some(0.01),
            memory: [("hierarchy.main.nanoseconds".to_owned(), 110.0)].into(),
            fitted: true,
        }
    }

    #[test]
    fn what_is_recorded_is_read_again() {
        let recorded = Recorded {
            machine: "a machine".to_owned(),
            model: "zen4".to_owned(),
            date: "2026-11-24".to_owned(),
            note: None,
            programs: [("chase size=8K".to_owned(), measured())].into(),
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recorded.toml");
        std::fs::write(&path, recorded.to_toml().unwrap()).unwrap();
        assert_eq!(Recorded::read(&path), Ok(recorded));
        std::fs::write(&path, "machine = 3").unwrap();
        let reason = Recorded::read(&path).unwrap_err();
        assert!(reason.contains("recorded.toml: expected what `--record` writes"), "{reason}");
    }

    #[test]
    fn a_program_that_executes_something_else_is_another_one() {
        assert_eq!(measured().is_of(101e6), Ok(()));
        assert!(measured().is_of(103e6).is_err() && measured().is_of(97e6).is_err());
        assert_eq!(Measured { instructions_m: None, ..measured() }.is_of(3.0), Ok(()));
    }
}
