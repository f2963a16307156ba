//! Why there is no result of a simulation.

use corun_record::{Actionable, Exit};
use corun_trace::format::FormatError;

use crate::core::Deadlock;
use crate::plausible::Implausible;

/// Why a trace was not simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The trace is damaged where it is read, or lacks what was asked for.
    #[error(transparent)]
    Trace(#[from] FormatError),
    /// The simulated core stopped making progress: a fault of corun.
    #[error(transparent)]
    Deadlock(#[from] Box<Deadlock>),
    /// A figure came out that cannot be.
    #[error("the simulation gave a figure that cannot be: {0}")]
    Implausible(#[from] Implausible),
}

impl Actionable for SimulationError {
    fn exit(&self) -> Exit {
        match self {
            Self::Trace(error) => error.exit(),
            Self::Deadlock(_) | Self::Implausible(_) => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Trace(error) => error.next_step(),
            Self::Deadlock(_) | Self::Implausible(_) => {
                "This is a fault of corun, not of the program: report it with this text, the command line and, if \
                 possible, the trace."
                    .to_owned()
            }
        }
    }
}
