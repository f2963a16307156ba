//! Which copies have finished: when a copy is started again and when a sample is over.
//!
//! Without `--steady` each worker does one run. With it, copies are started again until every one
//! has finished a counted window, so that no copy is timed beside an idle sibling; work begun but
//! not finished by then is not counted.

/// Finished runs of each worker of a sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    steady: bool,
    /// Finished runs and the end of the last one, in nanoseconds from the common start.
    workers: Vec<(u32, u64)>,
}

/// Action after a worker's run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Others still run; this worker rests.
    Rest,
    /// Start this worker again.
    Again,
    /// The sample is over; whatever still runs is not counted.
    Over,
}

impl Progress {
    /// Nothing finished yet.
    pub(crate) fn new(workers: usize, steady: bool) -> Self {
        Self { steady, workers: vec![(0, 0); workers] }
    }

    /// Counts a run of `worker` that ended `end_ns` after the common start.
    pub(crate) fn finish(&mut self, worker: usize, end_ns: u64) -> Next {
        let (runs, end) = &mut self.workers[worker];
        *runs += 1;
        *end = end_ns;
        if self.workers.iter().all(|(runs, _)| *runs > 0) {
            Next::Over
        } else if self.steady {
            Next::Again
        } else {
            Next::Rest
        }
    }

    /// Runs and seconds of each worker.
    pub(crate) fn workers(&self) -> impl Iterator<Item = (u32, f64)> {
        self.workers.iter().map(|&(runs, end)| (runs, end as f64 / 1e9))
    }

    /// T, in nanoseconds: the end of the last counted run.
    pub(crate) fn makespan_ns(&self) -> u64 {
        self.workers.iter().map(|&(_, end)| end).max().unwrap_or(0)
    }

    /// X in runs per second: N/T, or each copy's own rate added up under `--steady`.
    pub(crate) fn runs_per_second(&self) -> f64 {
        match self.steady {
            true => self.per_second(self.workers.iter().map(|&(runs, _)| u64::from(runs))),
            false => self.per_second(self.workers.iter().map(|_| 1)),
        }
    }

    /// Rate per second of all workers, for so many of each, in worker order.
    pub(crate) fn per_second(&self, counts: impl Iterator<Item = u64>) -> f64 {
        if self.steady {
            counts.zip(self.workers()).map(|(count, (_, seconds))| count as f64 / seconds).sum()
        } else {
            counts.sum::<u64>() as f64 / (self.makespan_ns() as f64 / 1e9)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_runs_once_without_steady() {
        let mut progress = Progress::new(2, false);
        assert_eq!(progress.finish(1, 1_000_000_000), Next::Rest);
        assert_eq!(progress.finish(0, 4_000_000_000), Next::Over);
        assert_eq!(progress.makespan_ns(), 4_000_000_000);
        assert_eq!(progress.runs_per_second(), 0.5);
    }

    #[test]
    fn a_fast_copy_runs_again_until_the_slow_one_has_a_window() {
        let mut progress = Progress::new(2, true);
        assert_eq!(progress.finish(0, 1_000_000_000), Next::Again);
        assert_eq!(progress.finish(0, 2_000_000_000), Next::Again);
        assert_eq!(progress.finish(1, 2_500_000_000), Next::Over);
        assert_eq!(progress.runs_per_second(), 2.0 / 2.0 + 1.0 / 2.5);
        assert_eq!(progress.makespan_ns(), 2_500_000_000);
    }
}
