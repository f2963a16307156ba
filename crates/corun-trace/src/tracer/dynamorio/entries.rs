//! From the words that a client leaves in a buffer to what a sink takes.
//!
//! The layout is that of `clients/channel.h`. Nothing in a buffer is trusted: a traced program may
//! have written there.

use std::collections::HashMap;
use std::io::Read;

use super::NAME;
use super::intervals::Intervals;
use crate::tracer::channel::Code;
use crate::tracer::entries::{
    ATOMIC, EntryError, MARKER, MARKER_WORDS, read_bytes, read_u32, read_u64,
};
use crate::tracer::session::Interpreter;
use crate::{BlockId, Form, Marker, OrderedMarker, Phase, Sink, ThreadId, decode};

const CUT: u64 = 1 << 62;
/// Where a marker of what was executed has the number of its interval.
const STRETCH: u32 = 8;
/// The system calls of x86-64 after which the process is another program: execve, execveat.
const REPLACING: [u64; 2] = [59, 322];

/// Passes to a sink what the buffers of a client hold.
#[derive(Debug)]
pub(crate) struct Entries {
    blocks: Vec<Known>,
    /// Of the threads that ended.
    instructions: u64,
    is_replaced: bool,
    intervals: Intervals,
    recorded: HashMap<u64, u64>,
    values: Vec<u64>,
}

/// A thread, in instructions since its start.
#[derive(Debug)]
pub(crate) struct Thread {
    id: ThreadId,
    /// Up to where it is known.
    position: u64,
    /// The position up to which it was emitted.
    reported: u64,
    /// The client says that it has come so far, with the block that follows.
    ahead: Option<u64>,
    /// A part of the run that is recorded without a gap, and where in it the interval ends that was begun.
    part: u64,
    until: Option<u64>,
    order: u64,
    call: Option<u64>,
    has_ended: bool,
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
    pub(crate) fn new(intervals: Intervals) -> Self {
        Self {
            blocks: Vec::new(),
            instructions: 0,
            is_replaced: false,
            intervals,
            recorded: HashMap::new(),
            values: Vec::new(),
        }
    }

    fn execute(
        &mut self,
        words: &[u64],
        thread: &mut Thread,
        code: &mut impl Read,
        sink: &mut dyn Sink,
    ) -> Result<usize, EntryError> {
        let number = words[0] & !CUT;
        let Some(index) = number.checked_sub(1) else {
            return Err(EntryError::Unexpected { expected: "the number of a block", found: 0 });
        };
        while index >= self.blocks.len() as u64 {
            let known = describe(code, sink)?;
            self.blocks.push(known);
        }
        let known = &self.blocks[index as usize];
        let is_cut = words[0] & CUT != 0;
        let length = known.words + usize::from(is_cut);
        let entry = words
            .get(..length)
            .ok_or(EntryError::Unexpected { expected: "the rest of an entry", found: words[0] })?;
        let whole = known.lengths.len();
        if let Some(ahead) = thread.ahead.take() {
            thread.position = ahead.saturating_sub(whole as u64);
        }
        let reached = if is_cut { known.index_of(entry[known.words])? } else { whole };
        let executed = if self.intervals.is_whole() {
            reached
        } else {
            let recorded = self.recorded.entry(thread.part).or_default();
            let until = thread.enter(self.intervals.phase(thread.part, *recorded), sink)?;
            let room = until.saturating_sub(*recorded);
            let executed = reached.min(usize::try_from(room).unwrap_or(usize::MAX));
            *recorded += executed as u64;
            executed
        };
        if executed > 0 {
            let sources = known.sources_of(executed);
            self.values.clear();
            if known.is_plain {
                let value = |source: &Source| {
                    (entry[source.word as usize] & source.mask).wrapping_add(source.addend)
                };
                self.values.extend(sources.iter().map(value));
            } else {
                push_values(&mut self.values, entry, sources)?;
            }
            sink.execute(thread.id, known.id, executed as u32, &self.values)?;
            thread.reported = thread.position + executed as u64;
        }
        thread.position += reached as u64;
        thread.call = None;
        Ok(length)
    }

    fn mark(
        &self,
        words: &[u64],
        thread: &mut Thread,
        sink: &mut dyn Sink,
    ) -> Result<usize, EntryError> {
        let &[kind, order, value, ..] = words else {
            return Err(EntryError::Unexpected {
                expected: "the rest of a marker",
                found: words[0],
            });
        };
        let kind = kind & !MARKER;
        thread.order = 2 * order;
        let marker = match kind & ((1 << STRETCH) - 1) {
            1 => Marker::SystemCall(value),
            2 => Marker::Signal(value as u32),
            3 => Marker::Forked(value as u32),
            5 => Marker::Ended,
            ATOMIC => Marker::Atomic,
            7 => {
                thread.ahead = Some(value);
                if thread.part != kind >> STRETCH {
                    (thread.part, thread.until) = (kind >> STRETCH, None);
                }
                return Ok(MARKER_WORDS);
            }
            found => return Err(EntryError::Unexpected { expected: "a kind of marker", found }),
        };
        match marker {
            Marker::SystemCall(number) => thread.call = Some(number),
            Marker::Ended => thread.has_ended = true,
            _ => {}
        }
        if self.intervals.is_whole() || thread.until.is_some() || marker == Marker::Ended {
            sink.mark(thread.id, OrderedMarker { order: thread.order, marker })?;
        }
        Ok(MARKER_WORDS)
    }
}

impl Interpreter for Entries {
    const TRACER: &'static str = NAME;
    type Thread = Thread;

    fn words(&self) -> Vec<u64> {
        self.intervals.words()
    }

    fn begin_thread(&mut self, tid: u32, sink: &mut dyn Sink) -> Result<Thread, EntryError> {
        Ok(Thread {
            id: sink.thread(tid)?,
            position: 0,
            reported: 0,
            ahead: None,
            part: 0,
            until: None,
            order: 0,
            call: None,
            has_ended: false,
        })
    }

    fn emit(
        &mut self,
        thread: &mut Thread,
        words: &[u64],
        code: &mut Code,
        sink: &mut dyn Sink,
    ) -> Result<usize, EntryError> {
        if words[0] & MARKER != 0 {
            self.mark(words, thread, sink)
        } else {
            self.execute(words, thread, code, sink)
        }
    }

    fn is_open(thread: &Thread) -> bool {
        !thread.has_ended
    }

    fn end_thread(&mut self, thread: Thread, sink: &mut dyn Sink) -> Result<(), EntryError> {
        self.instructions += thread.executed();
        if !self.is_replaced && thread.call.is_some_and(|call| REPLACING.contains(&call)) {
            sink.mark(thread.id, thread.between(Marker::Replaced))?;
            self.is_replaced = true;
        }
        Ok(())
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn remarks(&self) -> Vec<String> {
        let replaced =
            "The trace ends where the process became another program, which ran untraced.";
        self.is_replaced.then(|| replaced.to_owned()).into_iter().collect()
    }
}

impl Thread {
    fn executed(&self) -> u64 {
        self.ahead.unwrap_or(self.position)
    }

    /// A marker that the client did not make: its place is odd.
    fn between(&self, marker: Marker) -> OrderedMarker {
        OrderedMarker { order: self.order + 1, marker }
    }

    /// What follows is of this interval, which lasts up to so many of its part; to 0 if it is not to be emitted.
    fn enter(
        &mut self,
        interval: Option<(Phase, u64)>,
        sink: &mut dyn Sink,
    ) -> Result<u64, EntryError> {
        let until = interval.map(|(_, until)| until);
        if let Some((phase, _)) = interval.filter(|_| self.until != until) {
            let skipped = self.position - self.reported;
            sink.mark(self.id, self.between(Marker::Begin { phase, skipped }))?;
        }
        self.until = until;
        Ok(until.unwrap_or(0))
    }
}

impl Known {
    /// How many instructions lie before an address.
    fn index_of(&self, address: u64) -> Result<usize, EntryError> {
        let mut at = self.address;
        for (index, length) in self.lengths.iter().enumerate() {
            if at == address {
                return Ok(index);
            }
            at += u64::from(*length);
        }
        Err(EntryError::Unexpected { expected: "an instruction of the block", found: address })
    }

    /// The operands of the first instructions.
    fn sources_of(&self, executed: usize) -> &[Source] {
        if executed == self.lengths.len() {
            return &self.sources;
        }
        &self.sources[..self.counts[..executed].iter().copied().map(usize::from).sum()]
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

/// Reads the next description, a `struct channel_block` and what follows it, and passes it to the sink.
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
