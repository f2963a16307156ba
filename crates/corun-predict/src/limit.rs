//! A wall limit: what is done up to an instant, or until the user stops it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The wall limit of a prediction: what it may take in all, and when its stages end at the latest.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimit {
    begun: Instant,
    max_time: Duration,
    /// The part that is left where siblings are measured, too.
    without_siblings: Duration,
}

impl TimeLimit {
    /// A limit from now on, of which so much is for all but measuring siblings.
    pub(crate) fn begin(max_time: Duration, without_siblings: Duration) -> Self {
        Self { begun: Instant::now(), max_time, without_siblings }
    }

    /// Wall limit of the whole prediction.
    pub(crate) fn max_time(&self) -> Duration {
        self.max_time
    }

    /// When the run that says which process does the work ends.
    pub(crate) fn survey_ends(&self) -> Instant {
        self.at(2)
    }

    /// When the run before the recorded one ends.
    pub(crate) fn pre_run_ends(&self) -> Instant {
        self.at(4)
    }

    /// When the recorded run ends.
    pub(crate) fn recording_ends(&self) -> Instant {
        self.at(7)
    }

    /// When measuring the program alone ends.
    pub(crate) fn measuring_ends(&self) -> Instant {
        self.at(9)
    }

    /// When all of it ends.
    pub(crate) fn ends(&self) -> Instant {
        self.begun + self.max_time
    }

    /// After so many twelfths of the time that is not for siblings.
    fn at(&self, twelfths: u32) -> Instant {
        self.begun + self.without_siblings * twelfths / 12
    }
}

/// The time between two looks at the user's flag.
const PAUSE: Duration = Duration::from_millis(20);

/// Does this with a flag that is raised when `stop` is, and at `end`. Where the system refuses the
/// thread that watches, neither is seen.
pub(crate) fn until<R>(end: Instant, stop: &AtomicBool, run: impl FnOnce(&AtomicBool) -> R) -> R {
    let is_over = AtomicBool::new(stop.load(Ordering::Relaxed) || Instant::now() >= end);
    let has_run = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = || {
            while !has_run.load(Ordering::Acquire) {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() || stop.load(Ordering::Relaxed) {
                    return is_over.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(PAUSE.min(left));
            }
        };
        let watch = thread::Builder::new().spawn_scoped(scope, watch).ok();
        let _end = watch.map(|watch| End(&has_run, watch.thread().clone()));
        run(&is_over)
    })
}

/// Ends the watch, also where what is done panics.
struct End<'a>(&'a AtomicBool, thread::Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for the flag, which never comes where a limit is not kept to.
    fn wait(flag: &AtomicBool) {
        while !flag.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }

    #[test]
    fn it_ends_at_the_limit_or_when_the_user_says_so() {
        let (stop, never) = (AtomicBool::new(false), Duration::from_secs(1 << 20));
        until(Instant::now(), &stop, wait);
        until(Instant::now() + Duration::from_millis(1), &stop, wait);
        assert!(!until(Instant::now() + never, &stop, |flag| flag.load(Ordering::Relaxed)));
        until(Instant::now() + never, &stop, |flag| {
            stop.store(true, Ordering::Relaxed);
            wait(flag);
        });
        until(Instant::now() + never, &stop, wait);
    }
}
