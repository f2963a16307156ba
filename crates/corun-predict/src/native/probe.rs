//! The clock of a CPU while a program runs on it, and whether its core was its own: a short probe now and then.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use corun_machine::evidence::{gigahertz, slot_rate};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};

/// Time between two probes; a probe takes 25 microseconds, and is not part of any run time.
const PAUSE: Duration = Duration::from_millis(10);

/// State of a CPU at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Probe {
    /// The clock.
    pub(super) ghz: f64,
    /// Allocation slots per cycle; fewer where a sibling takes some.
    pub(super) slots: Option<f64>,
}

impl Probe {
    /// Of this thread's CPU, now.
    pub(super) fn take() -> Self {
        let ghz = gigahertz();
        Self { ghz, slots: slot_rate().map(|rate| rate / ghz) }
    }
}

/// Runs a closure while a co-running thread probes this thread's CPU, and kills the process when `stop` is set. Returns
/// the probes before, during and after.
///
/// # Errors
/// If the system refuses the thread; the process is killed then.
pub(super) fn beside<Result>(
    process: &OwnedFd,
    stop: &AtomicBool,
    run: impl FnOnce() -> Result,
) -> io::Result<(Result, Vec<Probe>)> {
    let over = AtomicBool::new(false);
    let mut probes = vec![Probe::take()];
    let result = thread::scope(|scope| {
        // It inherits the mask of CPUs.
        let corun = || {
            let mut during = Vec::new();
            while !over.load(Ordering::Acquire) {
                if stop.load(Ordering::Acquire) {
                    // It fails for one that has ended already.
                    let _ = pidfd_send_signal(process, Signal::KILL);
                    break;
                }
                thread::park_timeout(PAUSE);
                during.push(Probe::take());
            }
            during
        };
        let corunning = match thread::Builder::new().spawn_scoped(scope, corun) {
            Ok(corunning) => corunning,
            Err(error) => {
                let _ = pidfd_send_signal(process, Signal::KILL);
                run();
                return Err(error);
            }
        };
        let result = run();
        over.store(true, Ordering::Release);
        corunning.thread().unpark();
        probes.extend(corunning.join().expect("probing does not panic"));
        Ok(result)
    })?;
    probes.push(Probe::take());
    Ok((result, probes))
}
