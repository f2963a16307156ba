//! A child process that is waited for at once: what the tests of processes and of shells are made of.

use std::ffi::c_int;
use std::io;

use rustix::io::Errno;

/// Forks a child that does `work` and exits with the status that this returns, and waits for its end;
/// returns what it ended with, as waitpid(2) gives it.
///
/// The work runs in a copy of a process that may have other threads: see [`Peer`](crate::peer). The
/// child exits as those of the originals do, by way of the C library's handlers: they touch pages that it has
/// to get copies of, a good part of its short life.
///
/// # Errors
/// The system's, if it starts no process, or it cannot be waited for (SIGCHLD is ignored).
#[inline(always)]
pub(crate) fn fork_and_wait(work: impl FnOnce() -> c_int) -> Result<c_int, Errno> {
    // SAFETY: the child keeps to what a copy of a process with threads may do.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()),
        0 => {
            let status = work();
            // SAFETY: the C library's own handlers; nothing in corun registers another.
            unsafe { libc::exit(status) }
        }
        child => {
            let mut status = 0;
            // SAFETY: writes the status; of this very child, since other threads may have theirs.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
                let errno = last_errno();
                if errno != Errno::INTR {
                    return Err(errno);
                }
            }
            Ok(status)
        }
    }
}

/// The status that a child exited with; `None` if a signal ended it.
pub(crate) fn exit_status(status: c_int) -> Option<u64> {
    libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status) as u64)
}

#[cold]
fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
