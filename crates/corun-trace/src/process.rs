//! A process that is ended when the user says so, even while it sleeps, and one that runs unnoticed.
#![expect(clippy::disallowed_methods, reason = "the program reads it")]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Time that a process may run on after it was to be stopped.
const PATIENCE: Duration = Duration::from_millis(20);

/// Lets a program run once more without being noticed: what it says is thrown away, and it reads again
/// what a file gave it, from the start.
pub fn silence(command: &mut Command) {
    let again = File::open("/dev/stdin")
        .and_then(|file| Ok(file.metadata()?.is_file().then_some(file)))
        .unwrap_or_default();
    command.stdin(again.map_or_else(Stdio::null, Stdio::from));
    command.stdout(Stdio::null()).stderr(Stdio::null());
}

/// A process that cannot be taken for a later one of the same number.
#[derive(Debug)]
pub(crate) struct Process(OwnedFd);

impl Process {
    /// The child of this number, which was not collected yet.
    pub(crate) fn of(child: Pid) -> io::Result<Self> {
        Ok(Self(pidfd_open(child, PidfdFlags::empty())?))
    }

    /// Kills it; its end is still to be waited for.
    pub(crate) fn kill(&self) {
        // It fails for one that has ended already.
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }

    /// Does this, which lasts until the process has ended, and kills the process when `stop` is set;
    /// says whether `stop` was set.
    ///
    /// # Errors
    /// If the system refuses the thread that waits for `stop`; the process is killed then.
    pub(crate) fn until<Result>(
        &self,
        stop: &AtomicBool,
        run: impl FnOnce() -> Result,
    ) -> io::Result<(Result, bool)> {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let wait = || {
                while !over.load(Ordering::Acquire) {
                    if stop.load(Ordering::Acquire) {
                        return self.kill();
                    }
                    thread::park_timeout(PATIENCE);
                }
            };
            let watch = match thread::Builder::new().spawn_scoped(scope, wait) {
                Ok(watch) => watch,
                Err(error) => {
                    self.kill();
                    run();
                    return Err(error);
                }
            };
            let result = run();
            over.store(true, Ordering::Release);
            watch.thread().unpark();
            watch.join().expect("watching does not panic");
            Ok((result, stop.load(Ordering::Acquire)))
        })
    }
}
