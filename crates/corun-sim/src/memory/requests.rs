//! What a core asked of memory.

use corun_record::MemoryRequests;

/// Requests of one core, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// Loads and stores of lines that the first-level data cache did not have.
    pub l1d_misses: u64,
    /// Lines of code that the first level did not have.
    pub l1i_misses: u64,
    /// Requests of the first level that the second did not have.
    pub l2_misses: u64,
    /// Lines that came from memory.
    pub main: u64,
    /// Lines that came from another core.
    pub transfers: u64,
    /// Walks through the tables of pages.
    pub walks: u64,
    /// Lines that prefetchers asked for.
    pub prefetches: u64,
}

impl Requests {
    /// Name and number of each.
    pub fn all(&self) -> [(&'static str, u64); 7] {
        MemoryRequests::from(*self).by_name()
    }

    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::wrapping_add)
    }

    /// What came after an earlier count.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::wrapping_sub)
    }

    fn with(&self, other: &Self, by: fn(u64, u64) -> u64) -> Self {
        Self {
            l1d_misses: by(self.l1d_misses, other.l1d_misses),
            l1i_misses: by(self.l1i_misses, other.l1i_misses),
            l2_misses: by(self.l2_misses, other.l2_misses),
            main: by(self.main, other.main),
            transfers: by(self.transfers, other.transfers),
            walks: by(self.walks, other.walks),
            prefetches: by(self.prefetches, other.prefetches),
        }
    }
}

impl From<Requests> for MemoryRequests {
    fn from(requests: Requests) -> Self {
        let Requests { l1d_misses, l1i_misses, l2_misses, main, transfers, walks, prefetches } =
            requests;
        Self { l1d_misses, l1i_misses, l2_misses, main, transfers, walks, prefetches }
    }
}
