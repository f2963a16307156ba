//! Sink of a tracer's events.

use crate::{Block, BlockId, OrderedMarker, TouchedLines};

/// A thread of the traced process, counted from 0 in the order in which they are first seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// Takes what a tracer sees, in an order in which every thread's own is kept.
///
/// A sink trusts its tracer: identities that it did not give, or values that are not those of the
/// block's operands, are errors of the program.
pub trait Sink {
    /// A thread, by its number in the kernel.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn thread(&mut self, tid: u32) -> Result<ThreadId, SinkError>;

    /// A block that was not defined before.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn define(&mut self, block: Block) -> Result<BlockId, SinkError>;

    /// A thread executes a block up to `executed` instructions; `values` are those of their operands.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn execute(
        &mut self,
        thread: ThreadId,
        block: BlockId,
        executed: u32,
        values: &[u64],
    ) -> Result<(), SinkError>;

    /// Something between two blocks of a thread.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn mark(&mut self, thread: ThreadId, marker: OrderedMarker) -> Result<(), SinkError>;

    /// The lines that a thread has touched up to here. A sink that makes nothing of them need not take them.
    ///
    /// # Errors
    /// If they cannot be kept.
    fn touched(&mut self, thread: ThreadId, lines: TouchedLines) -> Result<(), SinkError> {
        let _ = (thread, lines);
        Ok(())
    }
}

/// Why something cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("the trace could not be written: {0}")]
pub struct SinkError(#[from] pub std::io::Error);
