//! Replaying a load from its beginning, again and again: the part that `dbench` and `tbench` share.
//! Every request is timed by itself, as the original does; the clock is read once between two.

use std::sync::Arc;
use std::time::Instant;

use super::{Answer, Kind, Line, Load, LoadMismatch};
use crate::{Histogram, Kernel, Latencies, WorkloadError};

/// Who carries the requests of a load out.
pub(crate) trait Client: Send {
    /// Puts everything into its starting state.
    ///
    /// # Errors
    /// Refusal of the system.
    fn reset(&mut self) -> Result<(), WorkloadError>;

    /// Before the first line of each pass.
    fn begin_pass(&mut self) {}

    /// Carries a request out.
    ///
    /// # Errors
    /// If it ends in another way than its line says.
    fn request(&mut self, line: &Line) -> Result<Answer, LoadMismatch>;
}

/// The kernel of one client.
pub(crate) struct Replay<C> {
    load: Arc<Load>,
    client: C,
    bytes: u64,
    values: u64,
    /// By kind, in the order of [`Kind::ALL`].
    latencies: Vec<Histogram>,
    failure: Option<WorkloadError>,
}

impl<C: Client> Replay<C> {
    pub(crate) fn new(load: Arc<Load>, client: C) -> Self {
        Self { load, client, bytes: 0, values: 0, latencies: Vec::new(), failure: None }
    }
}

impl<C: Client> Kernel for Replay<C> {
    fn reset(&mut self) {
        self.failure = self.client.reset().err();
        self.begin();
    }

    fn run(&mut self, operations: u64) {
        self.begin();
        if self.failure.is_none() {
            self.failure = self.replay(operations).err().map(WorkloadError::RequestFailed);
        }
    }

    fn failure(&mut self) -> Option<WorkloadError> {
        self.failure.take()
    }

    /// The bytes that were read and written.
    fn tallies(&self) -> Vec<u64> {
        vec![self.bytes]
    }

    fn latencies(&self) -> Latencies {
        let kinds = Kind::ALL.into_iter().zip(&self.latencies);
        let met = kinds.filter(|(_, histogram)| histogram.count() > 0);
        met.map(|(kind, histogram)| (kind.name().to_owned(), histogram.clone())).collect()
    }

    /// The sum of what the requests ended in.
    fn check(&self) -> u64 {
        self.values
    }
}

impl<C: Client> Replay<C> {
    fn replay(&mut self, operations: u64) -> Result<(), LoadMismatch> {
        let mut left = operations;
        let mut before = Instant::now();
        while left > 0 {
            self.client.begin_pass();
            let length = left.min(self.load.lines.len() as u64);
            for line in &self.load.lines[..length as usize] {
                let answer = self.client.request(line)?;
                self.bytes += answer.bytes;
                self.values = self.values.wrapping_add(answer.value);
                let now = Instant::now();
                self.latencies[line.action.kind() as usize].record(now - before);
                before = now;
            }
            left -= length;
        }
        Ok(())
    }

    fn begin(&mut self) {
        self.bytes = 0;
        self.values = 0;
        if self.latencies.is_empty() || self.latencies.iter().any(|of_kind| of_kind.count() > 0) {
            self.latencies = Kind::ALL.map(|_| Histogram::new()).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Action;

    /// Notes what it is asked for.
    #[derive(Default)]
    struct Notes(Vec<u32>);

    impl Client for Notes {
        fn reset(&mut self) -> Result<(), WorkloadError> {
            self.0.clear();
            Ok(())
        }

        fn begin_pass(&mut self) {
            self.0.push(0);
        }

        fn request(&mut self, line: &Line) -> Result<Answer, LoadMismatch> {
            self.0.push(line.number);
            let bytes = matches!(line.action, Action::Write { .. }).into();
            Ok(Answer { bytes, value: line.number.into() })
        }
    }

    #[test]
    fn a_load_is_replayed_from_its_beginning_again_and_again() {
        let text = "NTCreateX \"\\a\" 0 2 1 0x0\n\nWriteX 1 0 1 1 0x0\nClose 1 0x0";
        let load = Arc::new(Load::parse("test", text).unwrap());
        let mut kernel = Replay::new(load, Notes::default());
        for (operations, notes, bytes, check) in [
            (1, vec![0, 1], 0, 1),
            (3, vec![0, 1, 3, 4], 1, 8),
            (5, vec![0, 1, 3, 4, 0, 1, 3], 2, 12),
        ] {
            kernel.reset();
            kernel.run(operations);
            assert_eq!(kernel.client.0, notes);
            assert_eq!((kernel.tallies(), kernel.check()), (vec![bytes], check));
            let latencies = kernel.latencies();
            assert_eq!(latencies.values().map(Histogram::count).sum::<u64>(), operations);
            assert_eq!(latencies.get("WriteX").map_or(0, Histogram::count), bytes);
        }
    }
}
