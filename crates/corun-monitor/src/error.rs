//! What can go wrong while a machine is watched.

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
        /// What was found.
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
            Self::Unreadable { .. } => Exit::NotPossible,
            Self::Machine(error) => error.exit(),
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Ended => String::new(),
            Self::Unreadable { .. } => {
                "mount /proc and /sys, or name a captured machine with --root".to_owned()
            }
            Self::Machine(error) => error.next_step(),
        }
    }
}
