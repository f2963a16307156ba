//! The errors of calibration, with what the user can do about each.

use std::io;

use corun_model::ModelError;
use corun_record::{Actionable, Exit};

/// The error that ends a calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// Timed code is machine code of x86-64 that is run on Linux.
    #[error("expected a core of x86-64 under Linux, found {found}")]
    OtherMachine {
        /// Description of this machine.
        found: String,
    },
    /// The clock changed during every sample.
    #[error(
        "expected a clock that keeps still for a moment, found none in {samples} samples of {what}"
    )]
    Unsteady {
        /// Figure that was measured.
        what: String,
        /// Samples tried.
        samples: usize,
    },
    /// The system refuses something.
    #[error("expected to be allowed to measure, found that {what} fails: {source}")]
    System {
        /// Operation that was tried.
        what: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// No model is near enough to take what cannot be measured from.
    #[error("expected a core that one of the models is near to, found {found}")]
    NoBase {
        /// The core.
        found: String,
    },
    /// There is no such model.
    #[error(transparent)]
    Base(ModelError),
    /// The measurements make no model.
    #[error("expected that the measured figures make a core model, found: {sentence}")]
    NoModel {
        /// The fault.
        sentence: String,
    },
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
}

impl Actionable for CalibrateError {
    fn exit(&self) -> Exit {
        match self {
            Self::OtherMachine { .. } => Exit::NotPossible,
            Self::System { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => Exit::NotPermitted,
                _ => Exit::NotPossible,
            },
            Self::NoBase { .. } => Exit::Usage,
            Self::Base(error) => error.exit(),
            Self::Interrupted => Exit::Interrupted,
            Self::Unsteady { .. } | Self::NoModel { .. } => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::OtherMachine { .. } => "Choose a model of `corun models list` instead.",
            Self::Unsteady { .. } => {
                "Try again while nothing else runs, or fix the clock; `corun doctor` says what is \
                 running."
            }
            Self::System { .. } => {
                "Timing code needs memory that may be written and then executed, and 300 MiB of it."
            }
            Self::NoBase { .. } => {
                "Name the nearest model with --base; `corun models list` has them."
            }
            Self::Base(error) => return error.next_step(),
            Self::NoModel { .. } => "Try again while nothing else runs, or with another --base.",
            Self::Interrupted => "Nothing was written. Give it time, or ask for less with --quick.",
        }
        .to_owned()
    }
}
