//! Actions of a probe on a machine, behind a trait: order and choice are tested without a clock.

use std::time::Duration;

use super::ProbeError;
use super::loops::Loop;
use super::track::Track;

/// A machine that can be probed.
pub(super) trait ProbeTarget {
    /// Runs a loop on each of these CPUs at once, for so many nanoseconds; one track a CPU.
    fn window(
        &mut self,
        which: Loop,
        cpus: &[u32],
        nanoseconds: u64,
    ) -> Result<Vec<Track>, ProbeError>;

    /// Means of bursts of round trips of a cache line, in nanoseconds a round trip; none if not a
    /// single one was finished in time.
    fn round_trips(&mut self, cpus: [u32; 2]) -> Result<Vec<f64>, ProbeError>;

    /// Does nothing for this long.
    fn wait(&mut self, time: Duration);

    /// Time since the probe began.
    fn elapsed(&self) -> Duration;
}
