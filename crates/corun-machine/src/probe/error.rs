//! The errors of a probe that a user can act on.

use std::io;

use corun_record::{Actionable, Exit};

/// Why a machine could not be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nothing to compare.
    #[error("expected two logical CPUs or more that this process may use, found {found}")]
    TooFewCpus {
        /// Number of them.
        found: usize,
    },
    /// A thread could not be put on a CPU.
    #[error("expected a thread to run on CPU {cpu} alone: {source}")]
    Pin {
        /// The CPU.
        cpu: u32,
        /// Error of the system.
        source: io::Error,
    },
    /// A thread that measures ended early.
    #[error("expected an answer from the thread on CPU {cpu}, found that it has ended")]
    Silent {
        /// The CPU.
        cpu: u32,
    },
}

impl Actionable for ProbeError {
    fn exit(&self) -> Exit {
        match self {
            Self::TooFewCpus { .. } => Exit::NotPossible,
            Self::Pin { .. } | Self::Silent { .. } => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::TooFewCpus { .. } => {
                "Allow this process more CPUs (taskset, cpuset), or leave --probe out."
            }
            Self::Pin { .. } | Self::Silent { .. } => {
                "See whether CPUs or the cpuset were changed meanwhile, and probe again."
            }
        }
        .to_owned()
    }
}
