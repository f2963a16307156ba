//! What is learnt from a block by running it.

use corun_trace::Block;

/// A block that was executed so many times, one copy after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The block at the address of its first copy; [`address_of`](crate::address_of) gives the others'.
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

/// The most copies of a block; twice as many are timed too.
pub const COPIES: usize = 100;
/// Instructions and bytes of twice the copies that every op cache holds, with what stands around them.
const HELD_INSTRUCTIONS: usize = 1024;
const HELD_BYTES: usize = 8192;
/// The fewest copies from which a difference can be measured.
const FEWEST_COPIES: usize = 4;

/// Where the instructions of the copies of a block come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// Few copies, which the op cache holds as it holds a loop of the block.
    OpCache,
    /// More code than is sure to be held: decoders may take a part in it.
    Decoders,
}

/// How many copies of a block are timed, and where their instructions come from. There are no more than
/// an op cache holds, so that a block takes what it takes in a loop.
pub fn copies_of(block: &Block) -> (usize, FrontEnd) {
    let bytes = (block.end() - block.address).max(1) as usize;
    let instructions = block.instructions.len().max(1);
    let held = (HELD_INSTRUCTIONS / instructions).min(HELD_BYTES / bytes) / 2;
    match held {
        0..FEWEST_COPIES => (FEWEST_COPIES, FrontEnd::Decoders),
        held => (held.min(COPIES), FrontEnd::OpCache),
    }
}

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
    /// Where the instructions came from.
    pub front_end: FrontEnd,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 copies of 32 instructions are more than any op cache has places for.
    #[test]
    fn copies_are_as_many_as_an_op_cache_holds() {
        let of = |code: &[u8]| copies_of(&corun_trace::decode(0, code).unwrap());
        assert_eq!(of(&[0x90]), (COPIES, FrontEnd::OpCache));
        let additions = [0x49, 0x83, 0xc0, 1, 0x90, 0x90, 0x90].repeat(8);
        assert_eq!(of(&additions), (16, FrontEnd::OpCache));
        assert_eq!(of(&[0x90; 200]), (FEWEST_COPIES, FrontEnd::Decoders));
    }
}
