//! Signals: saying how to handle one, and handling one that a process sends itself.

use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::io::Errno;

use super::calls::{answered, kill};
use super::descriptor;
use super::errand::{Errand, errands};
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Tag};

pub(super) static INSTALLATION: Workload = Workload {
    descriptor: &descriptor(
        ["lmbench/signal-installation", "Signal handler installation"],
        "sigaction with a handler for SIGUSR1",
        &[Tag::SystemCalls],
        ["a sigaction", "calls"],
    ),
    unavailable: anywhere,
    prepare: |_, workers| errands(INSTALLATION.descriptor.name, workers, || Installation),
};

pub(super) static OVERHEAD: Workload = Workload {
    descriptor: &Descriptor {
        subtracts: Some("the same loop with signal 0, which is checked but not sent"),
        ..descriptor(
            ["lmbench/signal-overhead", "Signal handler overhead"],
            "a handler that runs for a signal that its process sent itself",
            &[Tag::SystemCalls],
            ["a handled signal", "signals"],
        )
    },
    unavailable: anywhere,
    prepare: |_, workers| errands(OVERHEAD.descriptor.name, workers, || Handling),
};

/// Signals that this process has handled.
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handle(_signal: libc::c_int) {
    HANDLED.store(HANDLED.load(Relaxed) + 1, Relaxed);
}

/// Installs the handler and returns the one there was.
fn install() -> Result<libc::sighandler_t, Errno> {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeros are a valid action: the default one, no flags and an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: `mask` is there to be written.
    unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
    // SAFETY: the handler does nothing that is forbidden in one, and both actions are there.
    answered(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, before.as_mut_ptr()) })?;
    // SAFETY: it was written, and zeros are a value of it anyway.
    Ok(unsafe { before.assume_init_ref() }.sa_sigaction)
}

struct Installation;

impl Errand for Installation {
    const CALL: &'static str = "sigaction";

    /// Counts the times that the handler was there already.
    fn run(&mut self, operations: u64) -> Result<u64, Errno> {
        let expected = handle as extern "C" fn(libc::c_int) as libc::sighandler_t;
        let mut found = 0;
        for _ in 0..operations {
            found += u64::from(install()? == expected);
        }
        Ok(found)
    }

    fn begin(&mut self) {
        // A refusal is found by the first run.
        let _ = install();
    }
}

struct Handling;

impl Errand for Handling {
    const CALL: &'static str = "kill";

    fn begin(&mut self) {
        let _ = install();
        // The parent of corun may have blocked it.
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is written before it is read.
        unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), null_mut());
        }
    }

    /// Counts the signals that were handled.
    fn run(&mut self, operations: u64) -> Result<u64, Errno> {
        let own = rustix::process::getpid().as_raw_pid();
        let before = HANDLED.load(Relaxed);
        for _ in 0..operations {
            kill(own, libc::SIGUSR1)?;
        }
        Ok(HANDLED.load(Relaxed) - before)
    }

    fn overhead(&mut self, operations: u64) {
        let own = rustix::process::getpid().as_raw_pid();
        for _ in 0..operations {
            // Always there.
            let _ = kill(own, 0);
        }
    }
}
