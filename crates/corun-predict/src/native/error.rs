//! The errors of native measurement.

use std::io;

use corun_trace::{Ending, SystemCall};

/// Why a program was not measured; the prediction stands without.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The kernel refuses to pin.
    #[error("it could not be pinned to one CPU: {0}")]
    Pinning(io::Error),
    /// The program cannot be started.
    #[error("it could not be started: {0}")]
    Program(io::Error),
    /// The kernel refuses to stop it at system calls, or to report its run time.
    #[error("the kernel does not let it be watched: {0}")]
    Watching(io::Error),
    /// It did something else than under the tracer.
    #[error("it ended otherwise than under the tracer ({native} instead of {traced})")]
    Otherwise {
        /// Under the tracer.
        traced: Ending,
        /// By itself.
        native: Ending,
    },
    /// The simulated thread was not there.
    #[error("expected more than {expected} threads, found {found}")]
    NoThread {
        /// The thread's number from 0.
        expected: usize,
        /// Number of them.
        found: usize,
    },
    /// It did not make the system call that it is to be measured from.
    #[error("it ended without the system call {0}")]
    NoCall(SystemCall),
    /// The program became another one.
    #[error("it becomes another program, which the trace does not hold")]
    Replaced,
}
