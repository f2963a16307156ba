//! Occupancy of the buffers, so that one sees which of them a core could do without.

/// Entries taken, as sums over cycles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupancy {
    cycles: u64,
    sums: [u64; 4],
}

const NAMES: [&str; 4] = ["queue", "reorder buffer", "load queue", "store queue"];

impl Occupancy {
    /// Time passes with so many entries taken.
    pub(crate) fn pass(&mut self, cycles: u64, taken: [u32; 4]) {
        self.cycles += cycles;
        for (sum, taken) in self.sums.iter_mut().zip(taken) {
            *sum += cycles * u64::from(taken);
        }
    }

    /// Name and mean number of taken entries of each buffer.
    pub fn means(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let cycles = self.cycles.max(1) as f64;
        NAMES.into_iter().zip(self.sums).map(move |(name, sum)| (name, sum as f64 / cycles))
    }

    /// Together with another part of the same core's time.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sums = self.sums;
        for (sum, another) in sums.iter_mut().zip(other.sums) {
            *sum += another;
        }
        Self { cycles: self.cycles + other.cycles, sums }
    }

    /// The difference to an earlier state.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut sums = self.sums;
        for (sum, before) in sums.iter_mut().zip(earlier.sums) {
            *sum -= before;
        }
        Self { cycles: self.cycles - earlier.cycles, sums }
    }
}
