//! From the words that the QEMU client leaves in a buffer to what a sink takes.
//!
//! A block's accesses follow it, so it is emitted when the next one begins. The layout is that of
//! `clients/qemu/client.c`; nothing in a buffer is trusted.

use super::accesses::{Piece, Pieces};
use super::blocks::{BlockOperands, Blocks, ExpectedAccess};
use super::{NAME, REMARKS};
use crate::tracer::channel::Code;
use crate::tracer::entries::{EntryError, MARKER, mark};
use crate::tracer::session::Interpreter;
use crate::{Interval, Phase, Sink, ThreadId, TracePlan};

const CONTINUED: u64 = 1 << 60;
const ACCESS: u64 = 1 << 61;
const STORE: u64 = 1 << 8;
/// Kinds of markers.
const ENDED: u64 = 5;
const BEGIN: u64 = 6;

/// Passes to a sink what the buffers of the client hold.
#[derive(Debug)]
pub(super) struct Entries {
    plan: TracePlan,
    blocks: Blocks,
    instructions: u64,
}

/// A thread and the block that it executes.
#[derive(Debug)]
pub(super) struct Thread {
    id: ThreadId,
    block: Option<u64>,
    has_ended: bool,
    ends_in_repeat: bool,
    is_continued: bool,
    /// Accesses of the block, with the instruction's index.
    pieces: Vec<(u32, Piece)>,
    /// Accesses of its last instruction, if that repeats.
    repeated: Pieces,
    /// Each instruction's, where they are not the expected ones.
    sorted: Vec<Pieces>,
    values: Vec<u64>,
}

impl Entries {
    pub(super) fn new(plan: TracePlan) -> Self {
        Self { plan, blocks: Blocks::default(), instructions: 0 }
    }
}

impl Interpreter for Entries {
    const TRACER: &'static str = NAME;
    type Thread = Thread;

    /// The number of intervals, then where each begins and ends and whether it counts.
    fn words(&self) -> Vec<u64> {
        let interval = |interval: Interval| {
            [interval.begin, interval.end, u64::from(interval.phase == Phase::Counted)]
        };
        let mut words: Vec<u64> = std::iter::once(0)
            .chain(crate::intervals(self.plan.clone()).flat_map(interval))
            .collect();
        words[0] = words.len() as u64 / 3;
        words
    }

    fn begin_thread(&mut self, tid: u32, sink: &mut dyn Sink) -> Result<Thread, EntryError> {
        Ok(Thread::new(sink.thread(tid)?))
    }

    fn emit(
        &mut self,
        thread: &mut Thread,
        words: &[u64],
        code: &mut Code,
        sink: &mut dyn Sink,
    ) -> Result<usize, EntryError> {
        let head = words[0];
        if head & MARKER != 0 {
            self.instructions += thread.finish(&self.blocks, sink)? + skipped(words);
            thread.has_ended |= head == MARKER | ENDED;
            return mark(words, thread.id, sink);
        }
        if head & ACCESS != 0 {
            let &[head, address, ..] = words else {
                return Err(EntryError::Unexpected { expected: "an address", found: head });
            };
            thread.access(head, address, &self.blocks);
            return Ok(2);
        }
        let number = head & !CONTINUED;
        self.blocks.learn(number, code, sink)?;
        // The same `rep` instruction once more is no other instruction.
        thread.is_continued = head & CONTINUED != 0 && thread.is_repeating();
        if !thread.is_continued {
            self.instructions += thread.finish(&self.blocks, sink)?;
            thread.begin(number, self.blocks.get(number));
        }
        Ok(1)
    }

    fn is_open(thread: &Thread) -> bool {
        !thread.has_ended
    }

    fn end_thread(&mut self, mut thread: Thread, sink: &mut dyn Sink) -> Result<(), EntryError> {
        self.instructions += thread.finish(&self.blocks, sink)?;
        Ok(())
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn remarks(&self) -> Vec<String> {
        REMARKS.map(str::to_owned).to_vec()
    }
}

/// Instructions that a marker says were not recorded.
fn skipped(marker: &[u64]) -> u64 {
    match *marker {
        [head, _, value, ..] if head == MARKER | BEGIN => value >> 1,
        [head, _, value, ..] if head == MARKER | ENDED => value,
        _ => 0,
    }
}

impl Thread {
    fn new(id: ThreadId) -> Self {
        Self {
            id,
            block: None,
            has_ended: false,
            ends_in_repeat: false,
            is_continued: false,
            pieces: Vec::new(),
            repeated: Pieces::default(),
            sorted: Vec::new(),
            values: Vec::new(),
        }
    }

    fn begin(&mut self, number: u64, block: &BlockOperands) {
        self.block = Some(number);
        self.ends_in_repeat = block.ends_in_repeat;
        self.pieces.clear();
        self.repeated.clear();
    }

    fn is_repeating(&self) -> bool {
        self.block.is_some() && self.ends_in_repeat
    }

    fn access(&mut self, head: u64, address: u64, blocks: &Blocks) {
        let instruction = ((head & !ACCESS) >> 16) as u32;
        let piece = Piece { address, is_store: head & STORE != 0 };
        let Some(number) = self.block else { return };
        // What goes on repeating has a block of its own, in which it is the first instruction.
        if self.ends_in_repeat {
            let last = blocks.get(number).instructions.len() as u32 - 1;
            if instruction == last || self.is_continued {
                return self.repeated.push(piece);
            }
        }
        self.pieces.push((instruction, piece));
    }

    /// Reports the open block, and how many of its instructions were executed.
    fn finish(&mut self, blocks: &Blocks, sink: &mut dyn Sink) -> Result<u64, EntryError> {
        let Some(number) = self.block.take() else { return Ok(0) };
        let block = blocks.get(number);
        self.values.clear();
        let executed = if self.is_usual(block) {
            let pieces = self.pieces.iter().zip(&block.expected);
            let values = pieces.filter(|(_, expected)| expected.is_value);
            self.values.extend(values.map(|((_, piece), _)| piece.address));
            block.instructions.len()
        } else {
            self.sort(block);
            let executed = self.executed(block);
            for (own, pieces) in block.instructions.iter().zip(&mut self.sorted).take(executed) {
                pieces.values(&block.operands[own.clone()], &mut self.values);
            }
            executed
        };
        sink.execute(self.id, block.id, executed as u32, &self.values)?;
        Ok(executed as u64)
    }

    fn is_usual(&self, block: &BlockOperands) -> bool {
        let is_same = |((instruction, piece), expected): (&(u32, Piece), &ExpectedAccess)| {
            *instruction == expected.instruction && piece.is_store == expected.is_store
        };
        // A block without operands names none; one whose pieces vary names none, too.
        self.pieces.len() == block.expected.len()
            && block.expected.is_empty() == block.operands.is_empty()
            && self.pieces.iter().zip(&block.expected).all(is_same)
    }

    fn sort(&mut self, block: &BlockOperands) {
        self.sorted.iter_mut().for_each(Pieces::clear);
        self.sorted.resize_with(block.instructions.len(), Pieces::default);
        for &(instruction, piece) in &self.pieces {
            if let Some(own) = self.sorted.get_mut(instruction as usize) {
                own.push(piece);
            }
        }
        if block.ends_in_repeat
            && let Some(last) = self.sorted.last_mut()
        {
            std::mem::swap(last, &mut self.repeated);
        }
    }

    /// QEMU does not say that an instruction faulted; but it and those after it accessed nothing,
    /// though it should have.
    fn executed(&self, block: &BlockOperands) -> usize {
        let accessed = self.sorted.iter().rposition(|pieces| !pieces.is_empty());
        let after = accessed.map_or(0, |last| last + 1);
        let missing = (after..block.instructions.len())
            .find(|&index| !block.instructions[index].is_empty() && !block.may_be_silent[index]);
        missing.unwrap_or(block.instructions.len())
    }
}
