//! A process that outlives corun for a moment, should corun be killed, and ends what corun's commands
//! have left: workers themselves die with corun, their children do not.
//!
//! It sleeps until corun ends. It is forked without exec, so that it needs no file, and makes
//! system calls only. A session of its own keeps the terminal's signals away from it.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use super::{group, mark, scan};

/// The name that the kernel shows.
pub(super) const NAME: &str = "corun-watchdog";

/// Searches for marked processes after corun's end, and the pause between two.
const ROUNDS: u32 = 100;
const PAUSE_NS: libc::c_long = 10_000_000;

/// Handle of the watchdog, if it could be started.
static WATCHDOG: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// Ends the watchdog, also one that is stopped: what is marked is the user's from now on.
pub(super) fn dismiss() {
    if let Some(Some(watchdog)) = WATCHDOG.get() {
        super::kill(watchdog);
    }
}

/// Starts the watchdog of this process, if it has none; returns whether it is there. Where that
/// fails, corun ends what is left by itself, unless it is killed.
pub(super) fn ensure() -> bool {
    WATCHDOG.get_or_init(|| start().ok()).is_some()
}

fn start() -> io::Result<OwnedFd> {
    let session = mark::session();
    let groups = group::root();
    let corun = handle(std::process::id().cast_signed())?;
    let (mut reader, writer) = io::pipe()?;
    // SAFETY: the child makes system calls only, and never returns. Its own child is the watchdog, so
    // that it is no child of this process: code that waits for all children does not wait for it.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        // SAFETY: as above.
        0 => match unsafe { libc::fork() } {
            0 => watch(corun.as_raw_fd(), groups, session),
            // SAFETY: writes the process id, and ends the process in between at once.
            watchdog => unsafe {
                let size = size_of::<libc::pid_t>();
                libc::write(writer.as_raw_fd(), std::ptr::from_ref(&watchdog).cast(), size);
                libc::_exit(0)
            },
        },
        // SAFETY: waits for the process in between.
        between => unsafe { libc::waitpid(between, std::ptr::null_mut(), 0) },
    };
    drop(writer);
    let mut watchdog = [0; size_of::<libc::pid_t>()];
    reader.read_exact(&mut watchdog)?;
    handle(libc::pid_t::from_ne_bytes(watchdog))
}

fn handle(process: libc::pid_t) -> io::Result<OwnedFd> {
    super::open_handle(process).ok_or_else(io::Error::last_os_error)
}

fn watch(corun: libc::c_int, groups: Option<libc::c_int>, session: u64) -> ! {
    // SAFETY: system calls on this process's own state.
    unsafe {
        libc::setsid();
        // It may have the mark of a corun around this one, which it is to outlive.
        mark::set_soft_limit(u64::MAX);
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_NAME, c"corun-watchdog".as_ptr());
        // What corun writes to must not stay open for this process's sake.
        close_all_but(corun, groups.unwrap_or(corun));
        let mut ended = libc::pollfd { fd: corun, events: libc::POLLIN, revents: 0 };
        while libc::poll(&raw mut ended, 1, -1) < 1 {}
    }
    for _ in 0..ROUNDS {
        // The groups first: what is in them cannot start anything more.
        let left = groups.map_or(0, |root| group::end_session(root, session));
        if end_marked(session) + left == 0 {
            break;
        }
        let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
        // SAFETY: sleeps for a valid time.
        unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
    }
    // SAFETY: ends this process at once.
    unsafe { libc::_exit(0) }
}

/// Kills every process with a mark of the session; returns how many there were.
fn end_marked(session: u64) -> usize {
    let marked = scan::all().filter(|&process| mark::is_of_session(process, session));
    let mut count = 0;
    for process in marked {
        // SAFETY: plain system calls; the handle keeps the signal from reaching a later process of
        // the same number.
        unsafe {
            let handle = libc::syscall(libc::SYS_pidfd_open, process, 0);
            if handle < 0 {
                continue;
            }
            if mark::is_of_session(process, session) {
                let no_info = std::ptr::null::<libc::siginfo_t>();
                libc::syscall(libc::SYS_pidfd_send_signal, handle, libc::SIGKILL, no_info, 0);
                count += 1;
            }
            libc::close(handle as libc::c_int);
        }
    }
    count
}

/// Closes every descriptor but two, which may be the same.
///
/// # Safety
/// Nothing in this process may use the others any more.
unsafe fn close_all_but(one: libc::c_int, other: libc::c_int) {
    let close = |first: libc::c_uint, last: libc::c_uint| {
        // SAFETY: closes descriptors that the caller gives up.
        first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0
    };
    let (low, high) = (one.min(other).cast_unsigned(), one.max(other).cast_unsigned());
    let is_done = (low == 0 || close(0, low - 1))
        && (high <= low + 1 || close(low + 1, high - 1))
        && close(high + 1, libc::c_uint::MAX);
    if !is_done {
        // Linux before 5.9.
        for descriptor in (0..4096).filter(|descriptor| ![one, other].contains(descriptor)) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}
