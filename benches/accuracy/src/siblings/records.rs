//! Yields that were measured on hardware: the records of folders, with what is predicted for each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use corun_model::{HostCore, suited};
use corun_record::{Document, RecordedCore, RecordedProgram, YieldRecord};

use super::{RECORDED, Ratio, WHOLE, Yield, said, simulated_yield};

/// A measured yield, and what is predicted for it or why nothing is.
pub(crate) struct Measured {
    pub record: YieldRecord,
    /// The core model.
    pub model: Option<String>,
    pub outcome: Result<Yield, String>,
}

/// The folder of this repository.
pub(crate) fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/yields")
}

/// All records of these folders, in the order of their names.
///
/// # Errors
/// If a folder cannot be listed, or a file in it that ends in .json is no record.
pub(crate) fn read(folders: &[PathBuf]) -> Result<Vec<YieldRecord>, String> {
    let mut records = BTreeMap::new();
    for folder in folders {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_none_or(|it| it != "json") {
                continue;
            }
            let text = std::fs::read_to_string(&path).map_err(failed)?;
            let record = YieldRecord::from_json(&text)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            records.insert(record.file_name(), record);
        }
    }
    Ok(records.into_values().collect())
}

/// Predicts what the records measured: as they were predicted when they were made, or now where that is not in them.
pub(crate) fn predict(
    corun: &Path,
    records: Vec<YieldRecord>,
    settings: &[String],
) -> Result<Vec<Measured>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("a folder for traces: {error}"))?;
    let mut traces = Traces { corun, folder: folder.path(), made: BTreeMap::new() };
    let of_record = |record: YieldRecord| {
        let model = record.model.clone().or_else(|| model_of(&record.core));
        let outcome = match (record.predicted, &model) {
            (Some(it), _) => Ok(Yield { mean: it.value, low: it.low, high: it.high }),
            (None, Some(model)) => traces.predicted(&record, model, settings),
            (None, None) => Err("there is no model of its core".to_owned()),
        };
        Measured { record, model, outcome }
    };
    Ok(records.into_iter().map(of_record).collect())
}

/// The model of a core, if there is one of this very design.
fn model_of(core: &RecordedCore) -> Option<String> {
    let RecordedCore { vendor, family, model, stepping, .. } = core.clone();
    let found = suited(&HostCore { vendor, family, model, stepping })?;
    (found.fit == corun_model::Fit::Own).then(|| found.model.to_owned())
}

/// Traces of built-in workloads, each made when it is first asked for.
struct Traces<'a> {
    corun: &'a Path,
    folder: &'a Path,
    made: BTreeMap<RecordedProgram, Result<PathBuf, String>>,
}

impl Traces<'_> {
    fn predicted(
        &mut self,
        record: &YieldRecord,
        model: &str,
        settings: &[String],
    ) -> Result<Yield, String> {
        let programs = std::iter::once(&record.program).chain(&record.beside);
        let traces = programs.map(|it| self.of(it)).collect::<Result<Vec<PathBuf>, _>>()?;
        simulated_yield(self.corun, model, Ratio::FullToSpread, &traces, settings, WHOLE)
    }

    fn of(&mut self, program: &RecordedProgram) -> Result<PathBuf, String> {
        if let Some(made) = self.made.get(program) {
            return made.clone();
        }
        let file = self.folder.join(format!("{}.trace", self.made.len()));
        let made = self.record(program, &file).map(|()| file);
        self.made.insert(program.clone(), made.clone());
        made
    }

    fn record(&self, program: &RecordedProgram, file: &Path) -> Result<(), String> {
        if !program.is_built_in {
            return Err("its arguments are not known".to_owned());
        }
        let mut command = Command::new(self.corun);
        command.args(["trace", "--quiet", "--length", RECORDED, "--output"]).arg(file);
        command.args(["--workload", &program.name]);
        command.args(program.parameters.iter().map(|(name, it)| format!("--param={name}={it}")));
        said(command).map(|_| ())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use corun_record::{Estimate, Placement, SiblingEvidence};

    use super::*;

    pub(in crate::siblings) fn record(name: &str, predicted: Option<f64>) -> YieldRecord {
        let estimate =
            |value: f64| Estimate { value, low: value, high: value, level: 0.95, blocks: 5 };
        YieldRecord {
            format: YieldRecord::FORMAT.to_owned(),
            version: YieldRecord::VERSION,
            corun_version: "1".to_owned(),
            core: RecordedCore {
                vendor: "AuthenticAMD".to_owned(),
                family: 25,
                model: 97,
                stepping: 2,
                microcode: None,
                kernel: None,
                smt_width: 2,
                is_virtual: false,
            },
            siblings: SiblingEvidence::Topology,
            program: RecordedProgram::of_command(name),
            beside: None,
            placement: Placement::Full(None),
            threads: 2,
            measured: estimate(1.2),
            predicted: predicted.map(estimate),
            model: None,
        }
    }

    #[test]
    fn records_of_folders_are_read_once_and_other_files_are_left() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let paths = folders.iter().map(|it| it.path().to_owned()).collect::<Vec<_>>();
        let one = record("gzip", Some(1.3));
        std::fs::write(paths[0].join("b.json"), one.to_json()).unwrap();
        std::fs::write(paths[1].join("a.json"), one.to_json()).unwrap();
        std::fs::write(paths[1].join("c.json"), record("xz", None).to_json()).unwrap();
        std::fs::write(paths[1].join("README.md"), "no record").unwrap();
        let names: Vec<String> =
            read(&paths).unwrap().into_iter().map(|it| it.program.name).collect();
        assert_eq!(names, ["gzip", "xz"]);
        std::fs::write(paths[0].join("d.json"), "{}").unwrap();
        assert!(read(&paths).unwrap_err().contains("d.json: expected corun-yield"));
    }

    #[test]
    fn what_was_predicted_is_kept_and_a_command_without_arguments_is_not_predicted_anew() {
        let records = vec![record("gzip", Some(1.3)), record("xz", None)];
        let found = predict(Path::new("/nowhere"), records, &[]).unwrap();
        assert_eq!(found[0].outcome, Ok(Yield { mean: 1.3, low: 1.3, high: 1.3 }));
        assert_eq!(found[0].model.as_deref(), Some("zen4"));
        assert_eq!(found[1].outcome, Err("its arguments are not known".to_owned()));
    }

    #[test]
    fn the_records_of_the_repository_can_be_read() {
        read(&[own_folder()]).unwrap();
    }
}
