//! Records of yields that were measured on siblings of this machine, as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use corun_files::Output;
use corun_machine::Machine;
use corun_predict::yield_records;
use corun_record::{Document, PredictionTable, shown};

use crate::problem::{Problem, say};

/// Writes records into a folder that was found writable before the work began.
pub(super) struct Recorder {
    folder: PathBuf,
}

impl Recorder {
    /// A recorder for this folder.
    pub(super) fn open(folder: &Path) -> Result<Self, Problem> {
        let own = Self { folder: folder.to_owned() };
        own.begin().map(|_| own)
    }

    /// A file without a name.
    fn begin(&self) -> Result<Output, Problem> {
        Output::create(&self.folder.join("yield.json")).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Problem {
        Problem::failed(
            format!("could not write a record into {}: {error}", shown(&self.folder)),
            "Make the folder first, or name one that you may write to.",
        )
    }

    /// Writes a record of each placement of the host's own core that was measured.
    pub(super) fn write(&self, table: &PredictionTable, machine: &Machine) -> Result<(), Problem> {
        let own = table.predictions.iter().find(|it| it.core.is_own);
        let records = own.map(|it| yield_records(it, machine, Path::new("/"))).unwrap_or_default();
        if records.is_empty() {
            return Err(Problem::failed(
                "expected a yield to record, found that none was measured",
                "What limits trust says why; with more time (--max-time) slow programs are measured, too.",
            ));
        }
        for record in records {
            let (name, text) = (record.file_name(), record.to_json());
            let mut output = self.begin()?;
            let path = self.folder.join(name);
            output
                .write_all(text.as_bytes())
                .and_then(|()| output.finish_as(&path))
                .map_err(|error| self.failed(&error))?;
            say(&format!("Recorded in {}.", shown(&path)));
        }
        Ok(())
    }
}
