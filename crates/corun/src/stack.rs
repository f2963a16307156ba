//! A stack of corun's own: what a user allows (ulimit -s) is for the programs that are measured, which inherit it.

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

/// The usual limit. Less than that is not enough to parse every command line.
const BYTES: usize = 8 << 20;

/// Runs corun, in a thread of its own where the first one's stack is limited to less than usual.
pub(crate) fn with_enough(run: fn() -> ExitCode) -> ExitCode {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills a live limit.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    if !is_known || limit.rlim_cur >= BYTES as u64 {
        return run();
    }
    match thread::Builder::new().stack_size(BYTES).spawn(run) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => run(),
    }
}
