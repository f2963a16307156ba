//! A cache line thrown to and fro between two CPUs.
//!
//! Bounded in time: where the two take turns on one host CPU, each throw takes a slice of its
//! scheduler.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Round trips in one burst.
const BURST: u64 = 100;
/// Bursts in a rally.
const BURSTS: usize = 12;
/// Reads of the line between two reads of the clock.
const LOOKS: u32 = 256;
/// Thrown when the rally is over.
const OVER: u64 = u64::MAX;

/// The line: odd while it is the other side's turn, and alone in 128 bytes, since some cores fetch
/// two lines of 64 bytes at a time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct SharedLine(AtomicU64);

/// Who does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Begins each round trip, and times them.
    Serving,
    /// Throws back.
    Returning,
}

impl SharedLine {
    /// Plays until the rally or its time is over; the serving side returns the mean of each burst
    /// in nanoseconds a round trip.
    pub(super) fn play(&self, side: Side, end: Instant) -> Vec<f64> {
        match side {
            Side::Serving => {
                let means = self.serve(end);
                self.0.store(OVER, Ordering::Release);
                means
            }
            Side::Returning => {
                let mut throw = 1;
                while self.came(throw, end) {
                    self.0.store(throw + 1, Ordering::Release);
                    throw += 2;
                }
                Vec::new()
            }
        }
    }

    fn serve(&self, end: Instant) -> Vec<f64> {
        let mut means = Vec::with_capacity(BURSTS);
        let mut throw = 1;
        // The first round trip waits for the other side to wake up.
        if !self.there_and_back(&mut throw, end) {
            return means;
        }
        while means.len() < BURSTS {
            let begin = Instant::now();
            let trips = (0..BURST).take_while(|_| self.there_and_back(&mut throw, end)).count();
            // A burst that was cut short counts only if there is no other.
            if trips == BURST as usize || (means.is_empty() && trips > 0) {
                means.push(begin.elapsed().as_nanos() as f64 / trips as f64);
            }
            if trips < BURST as usize {
                break;
            }
        }
        means
    }

    fn there_and_back(&self, throw: &mut u64, end: Instant) -> bool {
        self.0.store(*throw, Ordering::Release);
        let back = self.came(*throw + 1, end);
        *throw += 2;
        back
    }

    /// Waits for a throw; false if the rally or its time is over.
    fn came(&self, throw: u64, end: Instant) -> bool {
        loop {
            for _ in 0..LOOKS {
                match self.0.load(Ordering::Acquire) {
                    OVER => return false,
                    seen if seen == throw => return true,
                    _ => (),
                }
            }
            if Instant::now() >= end {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rally_of_two_has_a_mean_for_every_burst() {
        let ball = SharedLine::default();
        let end = Instant::now() + Duration::from_secs(60);
        let means = std::thread::scope(|scope| {
            scope.spawn(|| ball.play(Side::Returning, end));
            ball.play(Side::Serving, end)
        });
        assert_eq!(means.len(), BURSTS);
        assert!(means.iter().all(|mean| mean.is_finite() && *mean > 0.0), "{means:?}");
    }

    #[test]
    fn no_thread_waits_forever() {
        let past = Instant::now();
        for side in [Side::Serving, Side::Returning] {
            assert!(SharedLine::default().play(side, past).is_empty(), "{side:?}");
        }
    }
}
