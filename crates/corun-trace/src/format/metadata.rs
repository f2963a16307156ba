//! What a trace says of itself, as JSON: at its start what is traced and how, at its end how it ended.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Ending, Plan, Traced};

/// At the start of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// A hash of the environment: equal if the variables are.
    pub environment: String,
    /// What traced it.
    pub tracer: TracerName,
    /// The CPU's name as it gives it.
    pub cpu: String,
    /// The CPU's features by their names in the kernel.
    pub features: Vec<String>,
    /// The kernel's name and release.
    pub kernel: String,
    /// When tracing began: RFC 3339, in UTC.
    pub started: String,
    /// What was to be recorded.
    pub plan: Plan,
    /// What a reader should know, a sentence each.
    pub remarks: Vec<String>,
}

/// A tracer and its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracerName {
    /// As given to `--tracer`.
    pub name: String,
    /// As it gives it.
    pub version: String,
}

/// The same command without a tracer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NativeRun {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Processor time in its own code, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub system_s: f64,
    /// The frequency of the CPU just before and just after, in hertz, if it could be measured.
    pub hertz: Option<[f64; 2]>,
}

/// At the end of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// How the program ended; nothing if that was not seen: the tracer failed, or there was no room.
    pub ending: Option<Ending>,
    /// Instructions of all threads, recorded or not, if the tracer counted them.
    pub instructions: Option<u64>,
    /// The same command without a tracer, if it was run and ended alike.
    pub native: Option<NativeRun>,
    /// By identity; the writer fills it in.
    pub threads: Vec<ClosedThread>,
    /// What a reader should know, a sentence each.
    pub remarks: Vec<String>,
}

/// What was recorded of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedThread {
    /// Its number in the kernel.
    pub tid: u32,
    /// Recorded instructions.
    pub instructions: u64,
}

impl From<&Traced> for Closing {
    fn from(traced: &Traced) -> Self {
        Self {
            ending: Some(traced.ending),
            instructions: Some(traced.instructions),
            native: None,
            threads: Vec::new(),
            remarks: traced.remarks.clone(),
        }
    }
}

impl Opening {
    /// Of a trace that another tracer's `file` was converted to.
    pub(crate) fn imported(file: &Path, format: &str) -> Self {
        Self {
            command: vec![file.to_string_lossy().into_owned()],
            tracer: TracerName { name: format.to_owned(), version: String::new() },
            remarks: vec!["Converted: the machine it was traced on is not known.".to_owned()],
            ..Self::default()
        }
    }
}

impl Closing {
    /// Of a trace whose tracer failed: why.
    pub fn failed(reason: String) -> Self {
        Self { remarks: vec![reason], ..Self::default() }
    }
}
