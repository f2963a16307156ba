//! The children of this suite's tests, which go on only while the system starts them.

use std::ffi::c_int;

pub(super) use crate::child::exit_status;
use crate::child::fork_and_wait;
use crate::ended::end;

/// As [`fork_and_wait`].
///
/// Ends the run if the system starts no process, or it cannot be waited for (SIGCHLD is ignored).
#[inline(always)]
pub(super) fn run(work: impl FnOnce() -> c_int) -> c_int {
    fork_and_wait(work).unwrap_or_else(|error| end("the system starts no more processes", error))
}
