//! The counted time: without the loop around the operations, and without the time in which that loop
//! itself was measured (as lmbench subtracts it, McVoy and Staelin 1996).

use corun_machine::kernel_clock::now_ns;

/// Of one worker, over all its runs of a sample.
#[derive(Debug, Default)]
pub(super) struct OverheadTimer {
    subtracted_ns: u64,
    spent_ns: u64,
    /// Time spent before the run that ended last.
    spent_before_ns: u64,
}

/// Parts in which the overhead is timed; one that is held up by others does not count.
const OVERHEAD_PARTS: u64 = 3;

impl OverheadTimer {
    /// Times the overhead of the run that has just ended.
    pub(super) fn subtract(&mut self, mut overhead: impl FnMut(u64), operations: u64) {
        self.spent_before_ns = self.spent_ns;
        let part = operations.div_ceil(OVERHEAD_PARTS);
        let mut times = [0; OVERHEAD_PARTS as usize].map(|_: u64| {
            let begin = now_ns();
            overhead(part);
            now_ns() - begin
        });
        self.spent_ns += times.iter().sum::<u64>();
        times.sort_unstable();
        let of_all = times[times.len() / 2] as f64 * (operations as f64 / part as f64);
        self.subtracted_ns += of_all as u64;
    }

    /// Time subtracted from all runs together, in nanoseconds.
    pub(super) fn subtracted_ns(&self) -> u64 {
        self.subtracted_ns
    }

    /// When the run would have ended that ended at `end_ns`.
    pub(super) fn net(&self, end_ns: u64) -> u64 {
        end_ns.saturating_sub(self.subtracted_ns + self.spent_before_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_overhead_nothing_is_subtracted() {
        assert_eq!(OverheadTimer::default().net(5), 5);
    }

    #[test]
    fn what_was_spent_counts_from_the_next_run_on() {
        let mut clock = OverheadTimer { subtracted_ns: 10, spent_ns: 12, spent_before_ns: 0 };
        assert_eq!(clock.net(100), 90);
        let mut asked = Vec::new();
        clock.subtract(|operations| asked.push(operations), 7);
        assert_eq!(asked, [3, 3, 3]);
        assert!(clock.net(1000) <= 1000 - 10 - 12);
        assert!(clock.subtracted_ns() >= 10);
    }
}
