//! Metadata of a trace, as JSON: at its start what is traced and how, at its end how it ended.

use std::path::Path;

pub use corun_record::{
    NativeRun, TraceOpening as Opening, TracedThread as ClosedThread, UsedTracer as TracerName,
};
use serde::{Deserialize, Serialize};

use crate::{Ending, Module, Traced};

/// At the end of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// Ending of the program; nothing if that was not seen: the tracer failed, or there was no room.
    pub ending: Option<Ending>,
    /// Instructions of all threads, recorded or not, if the tracer counted them.
    pub instructions: Option<u64>,
    /// Native run: the same command without a tracer, if it was run and ended alike.
    pub native: Option<NativeRun>,
    /// By identity; the writer fills it in.
    pub threads: Vec<ClosedThread>,
    /// Files that the process had its code from, as far as that was seen.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Remarks for the reader, a sentence each.
    pub remarks: Vec<String>,
}

impl From<&Traced> for Closing {
    fn from(traced: &Traced) -> Self {
        Self {
            ending: Some(traced.ending),
            instructions: Some(traced.instructions),
            native: None,
            threads: Vec::new(),
            modules: Vec::new(),
            remarks: traced.remarks.clone(),
        }
    }
}

/// The opening of a trace that another tracer's `file` was converted to.
pub(crate) fn imported(file: &Path, format: &str) -> Opening {
    Opening {
        command: vec![file.to_string_lossy().into_owned()],
        tracer: TracerName { name: format.to_owned(), version: String::new() },
        remarks: vec!["Converted: the machine it was traced on is not known.".to_owned()],
        ..Opening::default()
    }
}

impl Closing {
    /// Of a trace whose tracer failed: why.
    pub fn failed(reason: String) -> Self {
        Self { remarks: vec![reason], ..Self::default() }
    }
}
