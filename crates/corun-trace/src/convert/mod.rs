//! To and from the traces of ChampSim, so that what corun traced runs there and what was traced for it
//! is read here.
//!
//! A thread's events stream through an [`Exporter`] and never lie in memory together; what a record
//! cannot hold is counted and reported.

pub mod champsim;

use std::io::{self, Write};

use corun_record::{Actionable, Exit};
use iced_x86::{Decoder, DecoderOptions, Instruction as Decoded};

use crate::{Block, BlockId, BranchKind, Event, Marker, access_count};

/// Accesses of a thread that are exported: some 256 GiB of ChampSim's records. A few bytes of a trace may
/// stand for 2^63 of them, and no disk holds these.
const MAX_ACCESSES: u64 = 1 << 32;

/// Takes the events of one thread and writes them for ChampSim.
///
/// It lags one block: whether a branch is taken is known from the next block.
pub struct Exporter<W: Write> {
    records: champsim::Records<W>,
    held: Option<(BlockId, u32)>,
    values: Vec<u64>,
    accesses_left: u64,
}

/// Content of an export, and remarks for the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Instructions of the thread.
    pub instructions: u64,
    /// Records that stand for them: more where one does not hold all accesses of an instruction.
    pub records: u64,
    /// Remarks on what the format could not hold, a sentence each.
    pub remarks: Vec<String>,
}

/// Why a trace cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file cannot be written.
    #[error("the export could not be written: {0}")]
    Write(#[from] io::Error),
    /// More than a file of records can sensibly hold; nothing of the block is written.
    #[error(
        "expected at most {MAX_ACCESSES} accesses to memory, found more in the block at {address:#x}"
    )]
    TooManyAccesses {
        /// Address of the block.
        address: u64,
    },
}

impl Actionable for ExportError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        match self {
            Self::Write(_) => "Make room, or give another file with -o.",
            Self::TooManyAccesses { .. } => "Trace a shorter part of the run with --length.",
        }
        .to_owned()
    }
}

impl<W: Write> Exporter<W> {
    /// Starts a file of one thread.
    pub fn new(output: W) -> Self {
        Self {
            records: champsim::Records::new(output),
            held: None,
            values: Vec::new(),
            accesses_left: MAX_ACCESSES,
        }
    }

    /// Takes the thread's next event; `blocks` is the dictionary as far as it is known.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn event(&mut self, blocks: &[Block], event: Event<'_>) -> Result<(), ExportError> {
        match event {
            Event::Block { block, executed, values } => {
                self.release(blocks, Some(blocks[block.0 as usize].address))?;
                self.held = Some((block, executed));
                self.values.extend_from_slice(values);
                Ok(())
            }
            Event::Marker(ordered) => match ordered.marker {
                Marker::SystemCall(_) | Marker::Atomic | Marker::Switch | Marker::Forked(_) => {
                    Ok(())
                }
                Marker::Signal(_) | Marker::Replaced | Marker::Begin { .. } | Marker::Ended => {
                    self.release(blocks, None)
                }
            },
        }
    }

    /// Writes what is held back and the end of the file.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(mut self, blocks: &[Block]) -> Result<Exported, ExportError> {
        self.release(blocks, None)?;
        Ok(self.records.finish()?)
    }

    fn release(&mut self, blocks: &[Block], next: Option<u64>) -> Result<(), ExportError> {
        if let Some((id, executed)) = self.held.take() {
            let block = &blocks[id.0 as usize];
            let accesses = access_count(block, executed, &self.values);
            self.accesses_left = (self.accesses_left.checked_sub(accesses))
                .ok_or(ExportError::TooManyAccesses { address: block.address })?;
            self.records.execution(&Execution {
                id,
                block,
                executed,
                values: &self.values,
                next,
            })?;
            self.values.clear();
        }
        Ok(())
    }
}

/// A block that was executed, and where the thread went from it if that is known: neither a signal nor
/// the end of an interval hides it.
struct Execution<'a> {
    id: BlockId,
    block: &'a Block,
    executed: u32,
    values: &'a [u64],
    next: Option<u64>,
}

impl Execution<'_> {
    /// True if a branch that ends before `fall_through` was taken. A condition whose outcome is not
    /// known counts as not met.
    fn is_taken(&self, kind: BranchKind, fall_through: u64) -> bool {
        kind.is_always_taken() || self.next.is_some_and(|next| next != fall_through)
    }
}

/// The instructions of code, decoded.
fn decoded(address: u64, bytes: &[u8]) -> impl Iterator<Item = Decoded> {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter()
}
