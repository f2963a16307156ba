//! A child process that is waited for at once: what the tests of processes and of shells are made of.

use std::ffi::c_int;
use std::io;

/// Forks a child that does `work` and exits with the status that this returns; returns what the
/// child ended with, as `waitpid` gives it.
///
/// The work runs in a copy of a process that may have other threads: see [`Peer`](crate::peer). The
/// child exits as the original's does, by way of the C library's handlers: they touch pages that it has
/// to get copies of, a good part of its short life.
///
/// # Panics
/// If the system starts no process, or nobody may wait for it (SIGCHLD is ignored).
#[inline(always)]
pub(super) fn run(work: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the child keeps to what a copy of a process with threads may do.
    match unsafe { libc::fork() } {
        -1 => refused(),
        0 => {
            let status = work();
            // SAFETY: the C library's own handlers; nothing in corun registers another.
            unsafe { libc::exit(status) }
        }
        child => {
            let mut status = 0;
            // SAFETY: writes the status; of this very child, since other threads may have theirs.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
                let error = io::Error::last_os_error();
                assert!(
                    error.kind() == io::ErrorKind::Interrupted,
                    "no child to wait for: {error}"
                );
            }
            status
        }
    }
}

/// The status that a child exited with; `None` if a signal ended it.
pub(super) fn exit_status(status: c_int) -> Option<u64> {
    libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status) as u64)
}

#[cold]
fn refused() -> ! {
    let error = io::Error::last_os_error();
    panic!("the system starts no more processes (see ulimit -u): {error}")
}
