//! Records as a thread of blocks whose bytes are not known.
//!
//! How long an instruction is follows from the next record where the thread goes straight on; a block
//! ends where it does not, at a branch, and after [`LONGEST`] instructions.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::mem::take;
use std::path::Path;

use corun_record::{Actionable, Exit};

use super::record::{Record, SIZE};
use crate::format::{Closing, Options, Writer, imported};
use crate::{
    Block, BlockId, ChampSimInstruction, Code, Direction, Form, Instruction, Marker, MemoryOperand,
    OrderedMarker, Sink, SinkError, ThreadId,
};

/// Longest block, in instructions. The more, the more blocks differ only in which of their instructions
/// had an address.
const LONGEST: usize = 16;

/// Bytes read at once.
const BUFFER: usize = 1024 * SIZE;

/// Imported trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// One a record.
    pub instructions: u64,
    /// Distinct blocks that they make up.
    pub blocks: u64,
}

/// Why a file is not a trace of ChampSim, and where.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the ChampSim trace could not be read at byte {offset}: {source}")]
    Read {
        /// Bytes read before.
        offset: u64,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file ends within a record.
    #[error(
        "expected a record of {SIZE} bytes at byte {offset} of the ChampSim trace, \
         found {found} bytes and the end"
    )]
    Truncated {
        /// Offset of the record.
        offset: u64,
        /// Length found of it, in bytes.
        found: usize,
    },
    /// A field has a value that no trace has.
    #[error("expected {expected} at byte {offset} of the ChampSim trace, found {found:#x}")]
    Impossible {
        /// Offset of the field.
        offset: u64,
        /// Expected values.
        expected: &'static str,
        /// Value found.
        found: u64,
    },
    /// The trace cannot be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl Actionable for ImportError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        match self {
            Self::Read { .. } => "Give a file that can be read.",
            Self::Truncated { .. } => "Get the whole file: nothing was written.",
            Self::Impossible { .. } => {
                "Unpack the file first (xz -d, gzip -d), and give a trace with 64 bytes a record: \
                 those of CloudSuite have more."
            }
            Self::Sink(_) => "Make room, or give another file with -o.",
        }
        .to_owned()
    }
}

/// Converts a whole trace to corun's format; `file` is recorded as its origin.
///
/// # Errors
/// As [`import`].
pub fn import_file<W: Write + Send + 'static>(
    file: &Path,
    input: impl Read,
    output: W,
) -> Result<Imported, ImportError> {
    let opening = imported(file, "champsim");
    let mut writer = Writer::new(output, &opening, Options::default())?;
    let imported = import(input, &mut writer)?;
    let instructions = Some(imported.instructions);
    writer.finish(Closing { instructions, ..Closing::default() })?;
    Ok(imported)
}

/// Writes the thread of a ChampSim trace to a sink; what was written before an error is valid.
///
/// # Errors
/// If the trace cannot be read, is none, or cannot be kept.
pub fn import(input: impl Read, sink: &mut dyn Sink) -> Result<Imported, ImportError> {
    let mut input = Input { input, buffer: Vec::new(), at: 0, offset: 0 };
    let thread = sink.thread(0)?;
    let mut straight = Straight::new(sink, thread);
    let mut imported = Imported::default();
    let mut following = input.record()?;
    while let Some(record) = following {
        following = match input.record() {
            Ok(record) => record,
            Err(error) => {
                straight.take(&record, None)?;
                return Err(error);
            }
        };
        straight.take(&record, following.map(|next| next.ip))?;
        imported.instructions += 1;
    }
    imported.blocks = straight.known.len() as u64;
    sink.mark(thread, OrderedMarker { order: 1, marker: Marker::Ended })?;
    Ok(imported)
}

/// Records off a file.
struct Input<R> {
    input: R,
    buffer: Vec<u8>,
    /// Length of the buffer that is used up.
    at: usize,
    /// Of the file, where the buffer begins.
    offset: u64,
}

impl<R: Read> Input<R> {
    fn record(&mut self) -> Result<Option<Record>, ImportError> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let offset = self.offset + self.at as u64;
        match self.buffer[self.at..].first_chunk() {
            Some(bytes) => {
                self.at += SIZE;
                checked(bytes, offset).map(Some)
            }
            None if self.buffer.is_empty() => Ok(None),
            None => Err(ImportError::Truncated { offset, found: self.buffer.len() - self.at }),
        }
    }

    /// Reads on until the buffer is full or the file ends.
    fn fill(&mut self) -> Result<(), ImportError> {
        self.offset += self.buffer.len() as u64;
        self.at = 0;
        self.buffer.clear();
        let read = self.input.by_ref().take(BUFFER as u64).read_to_end(&mut self.buffer);
        let offset = self.offset + self.buffer.len() as u64;
        read.map(|_| ()).map_err(|source| ImportError::Read { offset, source })
    }
}

fn checked(bytes: &[u8; SIZE], offset: u64) -> Result<Record, ImportError> {
    let record = Record::from_bytes(bytes);
    let impossible = |at: u64, expected, found| {
        Err(ImportError::Impossible { offset: offset + at, expected, found })
    };
    match record {
        Record { ip: 0, .. } => impossible(0, "the address of an instruction", 0),
        Record { is_branch: 2.., .. } => {
            impossible(8, "0 or 1 for a branch", record.is_branch.into())
        }
        Record { branch_taken: 2.., .. } => {
            impossible(9, "0 or 1 for a branch taken", record.branch_taken.into())
        }
        _ => Ok(record),
    }
}

/// Gathers records that follow each other into blocks.
struct Straight<'s> {
    sink: &'s mut dyn Sink,
    thread: ThreadId,
    known: HashMap<Block, BlockId>,
    address: u64,
    champsim: Vec<ChampSimInstruction>,
    instructions: Vec<Instruction>,
    operands: Vec<MemoryOperand>,
    values: Vec<u64>,
}

impl<'s> Straight<'s> {
    fn new(sink: &'s mut dyn Sink, thread: ThreadId) -> Self {
        Self {
            sink,
            thread,
            known: HashMap::new(),
            address: 0,
            champsim: Vec::new(),
            instructions: Vec::new(),
            operands: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Takes a record, and the address of the one after it.
    fn take(&mut self, record: &Record, next: Option<u64>) -> Result<(), SinkError> {
        let champsim = champsim(record);
        let length = next.and_then(|next| next.checked_sub(record.ip)).unwrap_or(0);
        let length = if champsim.taken || length > 15 { 0 } else { length as u8 };
        if self.champsim.is_empty() {
            self.address = record.ip;
        }
        let before = self.operands.len();
        for (addresses, direction) in
            [(&record.loads[..], Direction::Read), (&record.stores, Direction::Write)]
        {
            let operand = MemoryOperand { direction, size: 0, form: Form::Single };
            let named = addresses.iter().filter(|address| **address != 0);
            self.values.extend(named.inspect(|_| self.operands.push(operand)));
        }
        let operands = (self.operands.len() - before) as u8;
        self.champsim.push(champsim);
        self.instructions.push(Instruction { length, operands });
        let goes_on = length > 0 && !champsim.branch && champsim.branch_kind().is_none();
        if goes_on && self.champsim.len() < LONGEST { Ok(()) } else { self.finish() }
    }

    /// Passes to the sink what is gathered.
    fn finish(&mut self) -> Result<(), SinkError> {
        let executed = self.champsim.len() as u32;
        let block = Block {
            address: self.address,
            code: Code::ChampSim(take(&mut self.champsim)),
            instructions: take(&mut self.instructions),
            operands: take(&mut self.operands),
        };
        let id = match self.known.get(&block) {
            Some(id) => *id,
            None => {
                let id = self.sink.define(block.clone())?;
                self.known.insert(block, id);
                id
            }
        };
        self.sink.execute(self.thread, id, executed, &self.values)?;
        self.values.clear();
        Ok(())
    }
}

fn champsim(record: &Record) -> ChampSimInstruction {
    let addresses = record.loads.iter().chain(&record.stores);
    let places = addresses.zip(0..).filter(|(address, _)| **address != 0);
    ChampSimInstruction {
        writes: record.writes,
        reads: record.reads,
        branch: record.is_branch == 1,
        taken: record.branch_taken == 1,
        places: places.map(|(_, place)| 1 << place).sum(),
    }
}
