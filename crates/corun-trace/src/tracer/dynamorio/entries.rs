//! From the words that a client leaves in a buffer to what a sink takes.
//!
//! The layout is that of `clients/channel.h`. Nothing in a buffer is trusted: a traced program may
//! have written there.

use std::io::Read;
use std::ops::Range;

use super::NAME;
use super::intervals::{Intervals, Use};
use super::line_history::LineHistory;
use super::sources::{LINE, Source, touching};
use crate::tracer::channel::Code;
use crate::tracer::entries::{
    ATOMIC, EntryError, MARKER, MARKER_WORDS, read_bytes, read_u32, read_u64,
};
use crate::tracer::session::Interpreter;
use crate::{
    Block, BlockId, Direction, Form, Marker, OrderedMarker, Phase, Sink, ThreadId, TouchedLine,
    TouchedLines, decode,
};

const CUT: u64 = 1 << 62;
/// Position, in a marker of what was executed, of the number of its interval.
const INTERVAL_SHIFT: u32 = 8;
/// The system calls of x86-64 after which the process is another program: execve, execveat.
const REPLACING: [u64; 2] = [59, 322];

/// Bytes of an access at most, but for those of instructions that store the state of the processor.
const MAX_SIZE: u16 = 64;
/// Instructions between two notes of a block's code.
const BETWEEN_CODE: u64 = 1 << 14;

/// Passes to a sink what the buffers of a client hold.
#[derive(Debug)]
pub(crate) struct Entries {
    blocks: Vec<BlockRecord>,
    /// Of the threads that ended.
    instructions: u64,
    is_replaced: bool,
    intervals: Intervals,
    /// Instructions of all threads so far in each part. The last one is for what follows the last part.
    done: Vec<u64>,
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
    /// A part of the run that the client records without a gap, what the thread was last seen in, and where that lies
    /// in the part.
    part: u64,
    current: Option<(Use, Range<u64>)>,
    /// The lines that it touches, if they are wanted.
    history: Option<LineHistory>,
    order: u64,
    call: Option<u64>,
    has_ended: bool,
}

/// A block as its entries show it.
#[derive(Debug)]
struct BlockRecord {
    id: BlockId,
    address: u64,
    words: usize,
    lengths: Vec<u8>,
    counts: Vec<u8>,
    sources: Vec<Source>,
    /// Those of them that touch every line that the whole block touches.
    touching: Vec<Source>,
    is_plain: bool,
    /// Code, line by line.
    code: Vec<TouchedLine>,
    /// When these lines were noted last: of which thread, and where in its run.
    code_seen: (ThreadId, u64),
}

impl Entries {
    pub(crate) fn new(intervals: Intervals) -> Self {
        Self {
            blocks: Vec::new(),
            instructions: 0,
            is_replaced: false,
            done: vec![0; intervals.parts() + 1],
            intervals,
            values: Vec::new(),
        }
    }

    /// Passes over entries of which only the touched lines matter, as long as they are of whole and known blocks. Returns how
    /// many words they have.
    fn look_back(&mut self, words: &[u64], thread: &mut Thread) -> usize {
        let (Some((Use::LookBack, range)), None) = (&thread.current, thread.ahead) else {
            return 0;
        };
        let (Some(history), Some(done)) =
            (&mut thread.history, self.done.get_mut(thread.part as usize))
        else {
            return 0;
        };
        if !range.contains(done) {
            return 0;
        }
        let mut at = 0;
        while let Some(&first) = words.get(at) {
            // A marker, or a block cut short, has a larger number.
            let Some(known) = self.blocks.get_mut((first as usize).wrapping_sub(1)) else { break };
            let length = known.lengths.len();
            let Some(entry) = words.get(at..at + known.words) else { break };
            if *done + length as u64 > range.end {
                break;
            }
            known.touch(entry, length, (thread.id, thread.position), history);
            *done += length as u64;
            thread.position += length as u64;
            at += known.words;
        }
        if at > 0 {
            thread.call = None;
        }
        at
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
        let known = &mut self.blocks[index as usize];
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
        let (executed, is_recorded) = if self.intervals.is_whole() {
            (reached, true)
        } else {
            let expected = "the number of a part";
            let done = usize::try_from(thread.part).ok().and_then(|part| self.done.get_mut(part));
            let done = done.ok_or(EntryError::Unexpected { expected, found: thread.part })?;
            let until = thread.enter(&self.intervals, *done, sink)?;
            let room = until.saturating_sub(*done);
            let executed = reached.min(usize::try_from(room).unwrap_or(usize::MAX));
            *done += executed as u64;
            (executed, thread.is_recorded())
        };
        if let Some(history) = thread.history.as_mut().filter(|_| executed > 0) {
            known.touch(entry, executed, (thread.id, thread.position), history);
        }
        if executed > 0 && is_recorded {
            let sources = known.sources_of(executed);
            self.values.clear();
            if known.is_plain {
                self.values.extend(sources.iter().map(|source| source.address(entry)));
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
        let marker = match kind & ((1 << INTERVAL_SHIFT) - 1) {
            1 => Marker::SystemCall(value),
            2 => Marker::Signal(value as u32),
            3 => Marker::Forked(value as u32),
            5 => Marker::Ended,
            ATOMIC => Marker::Atomic,
            7 => {
                thread.ahead = Some(value);
                if thread.part != kind >> INTERVAL_SHIFT {
                    (thread.part, thread.current) = (kind >> INTERVAL_SHIFT, None);
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
        if self.intervals.is_whole() || thread.is_recorded() || marker == Marker::Ended {
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
            current: None,
            history: self.intervals.look_back().then(LineHistory::new),
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
        let looked_back = self.look_back(words, thread);
        if looked_back > 0 {
            Ok(looked_back)
        } else if words[0] & MARKER != 0 {
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

    /// True if what it does now is recorded.
    fn is_recorded(&self) -> bool {
        matches!(self.current, Some((Use::Recorded(_), _)))
    }

    /// Enters the interval after `done` instructions of the part. Returns up to how many of the part the same goes
    /// on; 0 if nobody wants it.
    #[inline]
    fn enter(
        &mut self,
        intervals: &Intervals,
        done: u64,
        sink: &mut dyn Sink,
    ) -> Result<u64, EntryError> {
        match &self.current {
            Some((_, range)) if range.contains(&done) => Ok(range.end),
            _ => self.enter_other(intervals, done, sink),
        }
    }

    /// The thread is not where it was seen last: an interval that is recorded begins with its marker, and with the lines
    /// that the thread touched before.
    fn enter_other(
        &mut self,
        intervals: &Intervals,
        done: u64,
        sink: &mut dyn Sink,
    ) -> Result<u64, EntryError> {
        let found = intervals.at(self.part, done);
        let was_warm_up = matches!(self.current, Some((Use::Recorded(Phase::WarmUp), _)));
        self.current = found.map(|(is_for, until)| (is_for, done..until));
        if let Some((Use::Recorded(phase), _)) = found {
            // What counts follows its warm-up.
            if let Some(history) = self.history.as_mut().filter(|_| !was_warm_up) {
                let lines = TouchedLines { position: self.position, lines: history.take() };
                sink.touched(self.id, lines)?;
            }
            let skipped = self.position - self.reported;
            sink.mark(self.id, self.between(Marker::Begin { phase, skipped }))?;
        }
        Ok(found.map_or(0, |(_, until)| until))
    }
}

impl BlockRecord {
    /// Number of instructions before an address.
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

    /// Notes the lines that the first instructions of a block touch, those of its code once in a while.
    #[inline]
    fn touch(
        &mut self,
        entry: &[u64],
        executed: usize,
        (thread, position): (ThreadId, u64),
        history: &mut LineHistory,
    ) {
        let now = (thread, position / BETWEEN_CODE);
        if self.code_seen != now {
            self.code_seen = now;
            self.code.iter().for_each(|line| history.touch(*line));
        }
        let is_whole = executed == self.lengths.len();
        let sources = if is_whole { &self.touching } else { self.sources_of(executed) };
        sources.iter().for_each(|source| source.touch(entry, history));
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
                values.push(source.address(entry));
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

/// The lines in which a block's code lies.
fn code_lines(block: &Block, length: u64) -> Vec<TouchedLine> {
    let last = block.address.wrapping_add(length.max(1) - 1);
    let inside = (0..length).step_by(LINE).map(|at| block.address.wrapping_add(at));
    let mut lines: Vec<_> =
        inside.chain([last]).map(|address| TouchedLine::new(address, false, true)).collect();
    lines.dedup();
    lines
}

/// Reads the next description, a `struct channel_block` and what follows it, and passes it to the sink.
fn describe(code: &mut impl Read, sink: &mut dyn Sink) -> Result<BlockRecord, EntryError> {
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
        let is_written = operand.direction != Direction::Read;
        let size = operand.size.clamp(1, MAX_SIZE) as u8;
        sources.push(Source { form: operand.form, word, mask, addend, is_written, size });
    }
    if operands != sources.len() {
        return Err(EntryError::Unexpected {
            expected: "the block's operands",
            found: operands as u64,
        });
    }
    let is_plain = sources.iter().all(|source| source.form == Form::Single);
    let lengths = block.instructions.iter().map(|instruction| instruction.length).collect();
    let code = code_lines(&block, length as u64);
    Ok(BlockRecord {
        id: sink.define(block)?,
        address,
        words,
        lengths,
        counts,
        touching: touching(&sources),
        sources,
        is_plain,
        code,
        code_seen: (ThreadId(u32::MAX), 0),
    })
}
