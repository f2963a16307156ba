//! A notice while a traced run takes long: the program may hang under the tracer though it does not natively.
//!
//! The native run time is not known yet, but the tracer's largest slowdown is, so the notice gives the native time that
//! would explain the run. The run is not ended, since the program may be long or wait for input.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Tracer, others};

/// The factor by which the run time grows between notices.
const NEXT: u32 = 4;

/// The notice that a traced run takes long: when it is given, and how.
#[derive(Debug, Clone, Copy)]
pub struct SlowRunNotice {
    /// The run time below which there is no notice.
    pub first: Duration,
    /// Shows the notice; called from another thread.
    pub say: fn(&str),
}

impl Default for SlowRunNotice {
    /// After a minute, and shown nowhere.
    fn default() -> Self {
        Self { first: Duration::from_secs(60), say: |_| {} }
    }
}

impl SlowRunNotice {
    /// Runs the program under the tracer, with a notice each time that the run takes long.
    pub(crate) fn during<Result>(
        &self,
        tracer: &dyn Tracer,
        run: impl FnOnce() -> Result,
    ) -> Result {
        let (name, slowdown) = (tracer.name(), tracer.slowdown());
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let watch = || self.watch(&over, name, slowdown);
            // Without a thread there are no notices. The run may panic, and then the watch is to end, too.
            let watch = thread::Builder::new().spawn_scoped(scope, watch).ok();
            let end = watch.map(|watch| End(&over, watch.thread().clone()));
            let result = run();
            drop(end);
            result
        })
    }

    /// True if a run that is over took longer than the tracer's slowdown explains.
    pub(crate) fn is_over(&self, tracer: &dyn Tracer, took: Duration, alone: Duration) -> bool {
        took > self.first + alone.saturating_mul(tracer.slowdown())
    }

    fn watch(&self, over: &AtomicBool, tracer: &str, slowdown: u32) {
        let begun = Instant::now();
        let mut next = self.first;
        while !over.load(Ordering::Acquire) {
            let took = begun.elapsed();
            if took < next {
                thread::park_timeout(next - took);
            } else {
                (self.say)(&notice(tracer, slowdown, took));
                next = took.saturating_mul(NEXT);
            }
        }
    }
}

/// Ends the watch.
struct End<'a>(&'a AtomicBool, thread::Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

fn notice(tracer: &str, slowdown: u32, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    format!(
        "The program has run for {seconds:.0} s under {tracer}, which makes programs up to {slowdown} times slower. If \
         it takes less than {} alone and waits for no input, it may hang under {tracer}: end it with Ctrl-C, which \
         keeps what was recorded, and try {}.",
        short(seconds / f64::from(slowdown)),
        others(tracer)
    )
}

fn short(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_says_what_would_be_usual_and_what_to_try() {
        let message = notice("qemu", 100, Duration::from_secs(60));
        assert!(message.starts_with(
            "The program has run for 60 s under qemu, which makes programs up to 100 times"
        ));
        assert!(message.contains("less than 0.6 s alone"), "{message}");
        assert!(message.ends_with("--tracer ptrace."), "{message}");
        let stepped = notice("ptrace", 250_000, Duration::from_secs(60));
        assert!(stepped.contains("less than 0.24 ms alone"), "{stepped}");
    }

    #[test]
    fn a_run_is_too_long_by_the_tracers_slowdown_beside_a_floor() {
        let Ok(chosen) = crate::choose(Some("ptrace")) else { return };
        let slow_run = SlowRunNotice::default();
        let is_over = |took, alone| {
            slow_run.is_over(chosen.tracer, Duration::from_secs(took), Duration::from_millis(alone))
        };
        assert!(!is_over(59, 0) && is_over(61, 0));
        assert!(!is_over(300, 1) && is_over(311, 1));
    }
}
