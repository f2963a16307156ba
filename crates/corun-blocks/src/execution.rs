//! What is learnt from a block by running it.

use corun_trace::Block;

/// A block that was executed so many times, one copy behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The block at the address of its first copy; [`address_of`](crate::address_of) tells the others'.
    pub block: Block,
    pub(crate) values: Vec<u64>,
    /// Where each iteration's values end.
    ends: Vec<usize>,
}

impl Execution {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn new(block: Block) -> Self {
        Self { block, values: Vec::new(), ends: Vec::new() }
    }

    /// What follows among the values is of the next iteration.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn end_iteration(&mut self) {
        self.ends.push(self.values.len());
    }

    /// The values of the operands of each iteration, as [`Event::Block`](corun_trace::Event::Block)
    /// holds them. Addresses are virtual; the physical one is the remainder by [`PAGE`](crate::PAGE).
    pub fn iterations(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        (0..self.ends.len()).map(|index| {
            let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.values[begin..self.ends[index]]
        })
    }
}

/// Copies of the block; twice as many are timed too.
pub const COPIES: usize = 100;

/// Cycles of one iteration of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycles {
    /// The median over groups of samples.
    pub median: f64,
    /// A tenth of the groups is below.
    pub p10: f64,
    /// A tenth of the groups is above.
    pub p90: f64,
    /// Groups that counted: those in which the core was not shared, or else least.
    pub groups: usize,
    /// Of these, the ones in which it was not shared.
    pub alone: usize,
}
