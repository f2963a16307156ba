//! Errors while a machine is watched.

use corun_record::{Actionable, Exit};

/// Why there is no further activity.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// A recording has no more intervals.
    #[error("the recording has ended")]
    Ended,
    /// A file of the system that is needed cannot be read.
    #[error("expected a readable {file}, found: {found}")]
    Unreadable {
        /// The file, from the root.
        file: String,
        /// Text found.
        found: String,
    },
    /// No account of a CPU goes on, so that nothing is known.
    #[error(
        "expected accounts of CPUs in /proc/stat that go on, found none: what the CPUs do is unknown"
    )]
    NoAccounts,
    /// A recording cannot be opened or read.
    #[error("expected a recording of corun in {file}, found: {found}")]
    NoRecording {
        /// The file, as it is shown.
        file: String,
        /// Text found.
        found: String,
    },
    /// A line of a recording is not what it should be.
    #[error("expected {expected} in line {line} of {file}, found something else: {found}")]
    Line {
        /// Expected line.
        expected: &'static str,
        /// Number of the line, from 1.
        line: u64,
        /// The file, as it is shown.
        file: String,
        /// The fault.
        found: String,
    },
    /// A recording cannot be written.
    #[error("expected to write a recording to {file}, found: {found}")]
    Unwritable {
        /// The file, as it is shown.
        file: String,
        /// Text found.
        found: String,
    },
    /// The machine itself cannot be read.
    #[error(transparent)]
    Machine(#[from] corun_machine::MachineError),
}

impl Actionable for MonitorError {
    fn exit(&self) -> Exit {
        match self {
            Self::Ended => Exit::Done,
            Self::Unreadable { .. } | Self::NoAccounts => Exit::NotPossible,
            Self::NoRecording { .. } | Self::Line { .. } | Self::Unwritable { .. } => Exit::Failed,
            Self::Machine(error) => error.exit(),
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Ended => String::new(),
            Self::Unreadable { .. } => {
                "Mount /proc and /sys, or name a captured machine with --root.".to_owned()
            }
            Self::NoAccounts => {
                "Watch the machine outside of its sandbox; a capture of one moment has no activity."
                    .to_owned()
            }
            Self::NoRecording { .. } => {
                "Name a file that `corun top --record FILE` wrote with this corun or an older one."
                    .to_owned()
            }
            Self::Line { line, .. } => format!(
                "Keep the lines before line {line} in a file of their own to see them, or record again."
            ),
            Self::Unwritable { .. } => {
                "Name a file that is not there yet, in a folder that may be written to.".to_owned()
            }
            Self::Machine(error) => error.next_step(),
        }
    }
}
