//! From the words that a client leaves in a buffer to what a sink takes.
//!
//! The layout is that of `clients/channel.h`. Nothing in a buffer is trusted: a traced program may
//! have written there.

use std::collections::HashMap;
use std::io::Read;

use crate::{
    BlockId, Form, Marker, NotCode, OrderedMarker, Phase, Sink, SinkError, ThreadId, decode,
};

const CUT: u64 = 1 << 62;
pub(super) const MARKER: u64 = 1 << 63;
pub(super) const MARKER_WORDS: usize = 3;

/// Why the words of a client make no sense.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("a block's description cannot be read: {0}")]
    Description(#[from] std::io::Error),
    #[error(transparent)]
    Code(#[from] NotCode),
    #[error(
        "expected {expected} memory operands in the instruction {code} at {address:#x}, the client \
         found {found}"
    )]
    Operands { address: u64, code: String, expected: u8, found: u8 },
    #[error("expected {expected}, found {found:#x}")]
    Unexpected { expected: &'static str, found: u64 },
}

/// Tells a sink what the buffers of a client hold.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    blocks: Vec<Known>,
    threads: HashMap<u32, ThreadId>,
    instructions: u64,
    values: Vec<u64>,
}

/// A block as its entries show it.
#[derive(Debug)]
struct Known {
    id: BlockId,
    address: u64,
    words: usize,
    lengths: Vec<u8>,
    counts: Vec<u8>,
    sources: Vec<Source>,
    is_plain: bool,
}

/// Where the values of an operand come from: a word and what to add to it.
#[derive(Debug, Clone, Copy)]
struct Source {
    form: Form,
    word: u32,
    /// All bits if the word counts, none if the address is always the same.
    mask: u64,
    addend: u64,
}

impl Entries {
    /// Instructions up to now.
    pub(crate) fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Another program begins: blocks are counted from 0 again.
    pub(crate) fn forget_blocks(&mut self) {
        self.blocks.clear();
    }

    /// A thread begins, by its number in the kernel.
    pub(crate) fn begin_thread(&mut self, tid: u32, sink: &mut dyn Sink) -> Result<(), EntryError> {
        self.threads.insert(tid, sink.thread(tid)?);
        Ok(())
    }

    /// Tells a buffer of a thread; `code` holds the descriptions of blocks that are not known yet.
    pub(crate) fn tell(
        &mut self,
        tid: u32,
        mut words: &[u64],
        code: &mut impl Read,
        sink: &mut dyn Sink,
    ) -> Result<(), EntryError> {
        let thread = *self.threads.get(&tid).ok_or(EntryError::Unexpected {
            expected: "a thread that has begun",
            found: tid.into(),
        })?;
        while let Some(&head) = words.first() {
            let length = if head & MARKER != 0 {
                mark(words, thread, sink)?
            } else {
                self.execute(words, thread, code, sink)?
            };
            words = &words[length..];
        }
        Ok(())
    }

    fn execute(
        &mut self,
        words: &[u64],
        thread: ThreadId,
        code: &mut impl Read,
        sink: &mut dyn Sink,
    ) -> Result<usize, EntryError> {
        let number = words[0] & !CUT;
        while number >= self.blocks.len() as u64 {
            let known = describe(code, sink)?;
            self.blocks.push(known);
        }
        let known = &self.blocks[number as usize];
        let is_cut = words[0] & CUT != 0;
        let length = known.words + usize::from(is_cut);
        let entry = words
            .get(..length)
            .ok_or(EntryError::Unexpected { expected: "the rest of an entry", found: words[0] })?;
        let (executed, sources) = if is_cut {
            known.up_to(entry[known.words])?
        } else {
            (known.lengths.len(), &known.sources[..])
        };
        self.values.clear();
        if known.is_plain {
            let value = |source: &Source| {
                (entry[source.word as usize] & source.mask).wrapping_add(source.addend)
            };
            self.values.extend(sources.iter().map(value));
        } else {
            push_values(&mut self.values, entry, sources)?;
        }
        self.instructions += executed as u64;
        sink.execute(thread, known.id, executed as u32, &self.values)?;
        Ok(length)
    }
}

impl Known {
    /// How many instructions lie before an address, and their operands.
    fn up_to(&self, address: u64) -> Result<(usize, &[Source]), EntryError> {
        let (mut at, mut operands) = (self.address, 0);
        for (index, length) in self.lengths.iter().enumerate() {
            if at == address {
                return Ok((index, &self.sources[..operands]));
            }
            at += u64::from(*length);
            operands += usize::from(self.counts[index]);
        }
        Err(EntryError::Unexpected { expected: "an instruction of the block", found: address })
    }
}

fn push_values(values: &mut Vec<u64>, entry: &[u64], sources: &[Source]) -> Result<(), EntryError> {
    for source in sources {
        let words = &entry[source.word as usize..];
        let count = match source.form {
            Form::Single => {
                values.push((words[0] & source.mask).wrapping_add(source.addend));
                continue;
            }
            Form::Repeated => 2,
            Form::Lanes => words[0].saturating_add(1),
        };
        let own = usize::try_from(count).ok().and_then(|count| words.get(..count));
        values.extend_from_slice(
            own.ok_or(EntryError::Unexpected { expected: "a number of lanes", found: words[0] })?,
        );
    }
    Ok(())
}

pub(super) fn mark(
    words: &[u64],
    thread: ThreadId,
    sink: &mut dyn Sink,
) -> Result<usize, EntryError> {
    let &[kind, order, value, ..] = words else {
        return Err(EntryError::Unexpected { expected: "the rest of a marker", found: words[0] });
    };
    let marker = match kind & !MARKER {
        1 => Marker::SystemCall(value),
        2 => Marker::Signal(value as u32),
        3 => Marker::Forked(value as u32),
        4 => Marker::Replaced,
        5 => Marker::Ended,
        6 => Marker::Begin {
            phase: if value & 1 == 1 { Phase::Counted } else { Phase::WarmUp },
            skipped: value >> 1,
        },
        found => return Err(EntryError::Unexpected { expected: "a kind of marker", found }),
    };
    sink.mark(thread, OrderedMarker { order, marker })?;
    Ok(MARKER_WORDS)
}

/// Reads the next description, a `struct channel_block` and what follows it, and tells the sink.
fn describe(code: &mut impl Read, sink: &mut dyn Sink) -> Result<Known, EntryError> {
    let address = read_u64(code)?;
    let mut sizes = [0; 4];
    for size in &mut sizes {
        *size = read_u32(code)? as usize;
    }
    let [length, words, instructions, operands] = sizes;
    if words == 0 {
        return Err(EntryError::Unexpected { expected: "an entry with a first word", found: 0 });
    }
    let bytes = read_bytes(code, length)?;
    let counts = read_bytes(code, instructions)?;
    let block = decode(address, &bytes)?;
    let mut at = 0;
    for (index, instruction) in block.instructions.iter().enumerate() {
        let found = counts.get(index).copied().unwrap_or_default();
        let own = &bytes[at..at + usize::from(instruction.length)];
        if found != instruction.operands {
            return Err(EntryError::Operands {
                address: address + at as u64,
                code: own.iter().map(|byte| format!("{byte:02x}")).collect(),
                expected: instruction.operands,
                found,
            });
        }
        at += own.len();
    }
    let mut sources = Vec::with_capacity(operands);
    for operand in &block.operands {
        let (addend, word, _) = (read_u64(code)?, read_u32(code)?, read_u32(code)?);
        if word as usize >= words {
            return Err(EntryError::Unexpected {
                expected: "a word of the entry",
                found: word.into(),
            });
        }
        let mask = if word == 0 { 0 } else { u64::MAX };
        sources.push(Source { form: operand.form, word, mask, addend });
    }
    if operands != sources.len() {
        return Err(EntryError::Unexpected {
            expected: "the block's operands",
            found: operands as u64,
        });
    }
    let is_plain = sources.iter().all(|source| source.form == Form::Single);
    let lengths = block.instructions.iter().map(|instruction| instruction.length).collect();
    Ok(Known { id: sink.define(block)?, address, words, lengths, counts, sources, is_plain })
}

pub(super) fn read_u64(from: &mut impl Read) -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

pub(super) fn read_u32(from: &mut impl Read) -> std::io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

pub(super) fn read_bytes(from: &mut impl Read, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from.take(count as u64).read_to_end(&mut bytes)? < count {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
