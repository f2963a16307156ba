//! A process that outlives corun for a moment, should corun be killed, and ends what corun's commands
//! have left: workers themselves die with corun, their children do not.
//!
//! It sleeps until corun ends. It is forked without exec, so that it needs no file, and makes
//! system calls only. A session of its own keeps the terminal's signals away from it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{group, mark, scan};

/// The name that the kernel shows.
pub(super) const NAME: &str = "corun-watchdog";

/// Searches for marked processes after corun's end, and the pause between two.
const ROUNDS: u32 = 100;
const PAUSE_NS: libc::c_long = 10_000_000;

static IS_THERE: OnceLock<bool> = OnceLock::new();

/// True if marked processes stay when corun ends, in memory that the watchdog shares.
static IS_RELEASED: OnceLock<&'static AtomicBool> = OnceLock::new();

/// Leaves what is marked to the user from now on: when corun ends, the watchdog ends nothing.
pub(super) fn release() {
    if let Some(is_released) = IS_RELEASED.get() {
        is_released.store(true, Ordering::SeqCst);
    }
}

/// Starts the watchdog of this process, if it has none; returns whether it is there. Where that
/// fails, corun ends what is left by itself, unless it is killed.
pub(super) fn ensure() -> bool {
    *IS_THERE.get_or_init(|| start().is_ok())
}

fn start() -> io::Result<()> {
    let session = mark::session();
    let is_released = shared()?;
    let is_released = *IS_RELEASED.get_or_init(|| is_released);
    let groups = group::root();
    let owner = std::process::id();
    // SAFETY: returns a new descriptor or -1.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, owner, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor.
    let corun = unsafe { OwnedFd::from_raw_fd(raw as i32) };
    // SAFETY: the child makes system calls only, and never returns. Its own child is the watchdog, so
    // that it is no child of this process: code that waits for all children does not wait for it.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        // SAFETY: as above.
        0 => match unsafe { libc::fork() } {
            0 => watch(corun.as_raw_fd(), groups, session, is_released),
            // SAFETY: ends the process in between at once.
            _ => unsafe { libc::_exit(0) },
        },
        // SAFETY: waits for the process in between.
        between => unsafe { libc::waitpid(between, std::ptr::null_mut(), 0) },
    };
    Ok(())
}

/// A value that processes forked from now on share with this one, to its end.
fn shared() -> io::Result<&'static AtomicBool> {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: new memory of a page, filled with zeros, which is never unmapped.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), 1, access, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(&*page.cast::<AtomicBool>())
    }
}

fn watch(
    corun: libc::c_int,
    groups: Option<libc::c_int>,
    session: u64,
    is_released: &AtomicBool,
) -> ! {
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
    let rounds = if is_released.load(Ordering::SeqCst) { 0 } else { ROUNDS };
    for _ in 0..rounds {
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
