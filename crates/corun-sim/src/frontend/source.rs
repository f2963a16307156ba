//! Source of a hardware thread's instructions.

use crate::memory::Pages;
use crate::uops::DecodedBlock;

/// The program of a hardware thread, block by block.
pub(crate) trait InstructionSource {
    /// The next block at cycle `now`. Code that it needs for the first time is added to `code`, the values of its
    /// instructions' accesses to `values`.
    fn next(&mut self, now: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next;

    /// Tries to continue after a synchronisation point, now that everything before it is done. Returns from which cycle on
    /// it does, if it does.
    fn pass(&mut self, now: u64) -> Option<u64> {
        Some(now)
    }

    /// So many more of the instructions that it gave are done.
    fn retire(&mut self, _instructions: u64) {}

    /// Pages of its addresses, from the last synchronisation point to the next.
    fn pages(&self) -> Pages;

    /// An instruction of a block that it gave, for people, if that is known.
    fn describe(&self, _block: u32, _instruction: u32) -> Option<String> {
        None
    }
}

/// The next of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A block.
    Step(Step),
    /// A place that is passed when everything before it is done, and [`InstructionSource::pass`] lets it.
    SyncPoint,
    /// Nothing: it has ended.
    End,
}

/// A block that a thread executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Index of its code.
    pub(crate) block: u32,
    /// Address of the block this time.
    pub(crate) address: u64,
    /// Number of its instructions that are executed.
    pub(crate) executed: u32,
}
