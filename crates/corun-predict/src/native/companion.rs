//! The clock of a CPU while a program runs on it: a short probe now and then, in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use corun_machine::evidence::multiplication_rate;
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};

/// Time between two probes; a probe takes 20 microseconds, and is in nobody's run time.
const PAUSE: Duration = Duration::from_millis(10);
/// Cycles of a multiplication on x86-64.
const MULTIPLICATION: f64 = 3.0;

/// The clock of this thread's CPU, in GHz.
pub(super) fn clock_ghz() -> f64 {
    MULTIPLICATION * multiplication_rate()
}

/// Does this while the clock is probed on this thread's CPU, and ends the process when `stop` is set.
/// Tells the clocks seen, in GHz: before, in between, and after.
pub(super) fn beside<Result>(
    process: &OwnedFd,
    stop: &AtomicBool,
    run: impl FnOnce() -> Result,
) -> (Result, Vec<f64>) {
    let over = AtomicBool::new(false);
    let mut clocks = vec![clock_ghz()];
    let result = thread::scope(|scope| {
        // It inherits the mask of CPUs.
        let companion = scope.spawn(|| {
            let mut seen = Vec::new();
            while !over.load(Ordering::Acquire) {
                if stop.load(Ordering::Acquire) {
                    // It fails for one that has ended already.
                    let _ = pidfd_send_signal(process, Signal::KILL);
                    break;
                }
                thread::park_timeout(PAUSE);
                seen.push(clock_ghz());
            }
            seen
        });
        let result = run();
        over.store(true, Ordering::Release);
        companion.thread().unpark();
        clocks.extend(companion.join().expect("probing does not panic"));
        result
    });
    clocks.push(clock_ghz());
    (result, clocks)
}
