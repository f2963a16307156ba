//! The overhead of measurement: a ptrace stop at a system call, and a page fault.
//!
//! A child that does nothing but ask for its parent's number is watched as a program is; its intervals
//! are nothing but stops.

use std::io;

use corun_machine::kernel_clock::cpu_time_ns;
use corun_stats::median;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::bracketed::run_time;

/// Costs in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    /// In an interval between two system calls.
    pub(super) user_s: f64,
    /// In an interval within one.
    pub(super) kernel_s: f64,
    /// A page fault.
    pub(super) fault_s: f64,
}

/// System calls of the child.
const CALLS: usize = 400;
/// Pages that are touched for the first time.
const PAGES: usize = 1024;

impl Overhead {
    /// Measures them on this thread's CPU, which must be its only one.
    pub(super) fn measure() -> io::Result<Self> {
        let [user_s, kernel_s] = stops()?;
        Ok(Self { user_s, kernel_s, fault_s: page_fault()? })
    }
}

/// Seconds of an interval between system calls, and of one within.
fn stops() -> io::Result<[f64; 2]> {
    // SAFETY: the child makes system calls only, and ends by one.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => asks(),
        child => Pid::from_raw(child),
    };
    let watched = watch(child);
    if watched.is_err() {
        let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
        let _ = waitpid(child, Some(WaitPidFlag::__WALL));
    }
    watched
}

/// The life of the child.
fn asks() -> ! {
    // SAFETY: these are system calls, which a child of a process with threads may make.
    unsafe {
        if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 {
            libc::raise(libc::SIGSTOP);
            for _ in 0..CALLS {
                libc::syscall(libc::SYS_getppid);
            }
        }
        libc::_exit(0)
    }
}

fn watch(child: Pid) -> io::Result<[f64; 2]> {
    let flags = Some(WaitPidFlag::__WALL);
    waitpid(child, flags)?;
    ptrace::setoptions(child, Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL)?;
    let file = run_time(child, child)?;
    let mut intervals = [Vec::new(), Vec::new()];
    let (mut before, mut is_in_kernel) = (file.ns()?, false);
    loop {
        ptrace::syscall(child, None)?;
        match waitpid(child, flags)? {
            WaitStatus::PtraceSyscall(_) => {
                let now = file.ns()?;
                intervals[usize::from(is_in_kernel)].push(now.saturating_sub(before) as f64 * 1e-9);
                (before, is_in_kernel) = (now, !is_in_kernel);
            }
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => break,
            _ => {}
        }
    }
    Ok(intervals.map(|of_kind| median(&of_kind).unwrap_or_default()))
}

/// Seconds of this thread for a page that is touched for the first time.
fn page_fault() -> io::Result<f64> {
    const PAGE: usize = 4096;
    let length = PAGES * PAGE;
    // SAFETY: a new mapping, which is written inside its length and then taken away.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Where there are no huge pages it fails, and is not needed.
        libc::madvise(start, length, libc::MADV_NOHUGEPAGE);
        let begin = cpu_time_ns();
        for page in 0..PAGES {
            start.cast::<u8>().add(page * PAGE).write_volatile(1);
        }
        let taken = cpu_time_ns() - begin;
        libc::munmap(start, length);
        Ok(taken as f64 * 1e-9 / PAGES as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::pinned;

    #[test]
    fn stops_and_faults_cost_something() {
        let found = pinned(Overhead::measure).unwrap();
        let costs = [found.user_s, found.kernel_s, found.fault_s];
        assert!(costs.iter().all(|cost| *cost > 0.0 && cost.is_finite()), "{found:?}");
    }
}
