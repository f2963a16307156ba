//! From single instructions to what a sink takes: blocks, each told once, and markers.

use std::collections::HashMap;
use std::iter::Peekable;
use std::rc::Rc;

use super::code::Code;
use crate::{
    Block, BlockId, Marker, MemoryOperand, OrderedMarker, Plan, Sink, SinkError, Stretch, ThreadId,
};

/// Where a block ends if it does not branch before, in instructions.
const LONGEST_BLOCK: usize = 64;

/// Tells the sink what the plan asks for.
pub(super) struct Telling<'a> {
    sink: &'a mut dyn Sink,
    known: HashMap<(u64, Vec<u8>), BlockId>,
    order: u64,
    stretches: Peekable<Box<dyn Iterator<Item = Stretch>>>,
    /// Instructions of all threads, told or not.
    pub instructions: u64,
    /// Those of them that no block can hold.
    pub left_out: u64,
    last: Option<ThreadId>,
    /// How many there are.
    threads: u32,
}

/// What a thread has executed since its last block ended.
#[derive(Debug)]
pub(super) struct Story {
    thread: ThreadId,
    run: Vec<Rc<Code>>,
    values: Vec<u64>,
    /// Where the stretch that is being recorded begins.
    stretch: Option<u64>,
    skipped: u64,
}

impl<'a> Telling<'a> {
    pub(super) fn new(plan: Plan, sink: &'a mut dyn Sink) -> Self {
        let stretches = plan.stretches().peekable();
        Self {
            sink,
            known: HashMap::new(),
            order: 0,
            stretches,
            instructions: 0,
            left_out: 0,
            last: None,
            threads: 0,
        }
    }

    /// A new thread's.
    pub(super) fn begin(&mut self, tid: u32) -> Result<Story, SinkError> {
        let thread = self.sink.thread(tid)?;
        self.threads += 1;
        Ok(Story { thread, run: Vec::new(), values: Vec::new(), stretch: None, skipped: 0 })
    }

    /// The stretch that the next instruction belongs to, if it is to be recorded.
    pub(super) fn stretch(&mut self) -> Option<Stretch> {
        while self.stretches.next_if(|stretch| stretch.end <= self.instructions).is_some() {}
        self.stretches.peek().copied().filter(|stretch| stretch.begin <= self.instructions)
    }

    /// An instruction was executed, with these values of its operands, in a stretch or in none.
    pub(super) fn execute(
        &mut self,
        story: &mut Story,
        code: &Rc<Code>,
        values: &[u64],
        stretch: Option<Stretch>,
    ) -> Result<(), SinkError> {
        self.instructions += 1;
        self.enter(story, stretch)?;
        if stretch.is_none() {
            story.skipped += 1;
            return Ok(());
        }
        if self.last != Some(story.thread) {
            if self.last.is_some() {
                self.mark(story, Marker::Switch)?;
            }
            self.last = Some(story.thread);
        }
        if code.is_atomic && self.threads > 1 {
            self.mark(story, Marker::Atomic)?;
        }
        if !story.is_followed_by(code) {
            self.end_block(story, 0)?;
        }
        story.run.push(Rc::clone(code));
        story.values.extend_from_slice(values);
        if code.branches || story.run.len() == LONGEST_BLOCK {
            self.end_block(story, 0)?;
        }
        Ok(())
    }

    /// An instruction was executed that the decoder does not know.
    pub(super) fn leave_out(&mut self, story: &mut Story) -> Result<(), SinkError> {
        self.instructions += 1;
        self.left_out += 1;
        self.end_block(story, 0)
    }

    /// A signal comes before the next instruction.
    pub(super) fn interrupt(
        &mut self,
        story: &mut Story,
        next: Option<&Rc<Code>>,
        signal: u32,
    ) -> Result<(), SinkError> {
        match next {
            Some(next) if !story.run.is_empty() && story.is_followed_by(next) => {
                story.run.push(Rc::clone(next));
                self.end_block(story, 1)?;
            }
            _ => self.end_block(story, 0)?,
        }
        self.mark(story, Marker::Signal(signal))
    }

    /// Something else happened; it is told if the thread is being recorded.
    pub(super) fn mark(&mut self, story: &mut Story, marker: Marker) -> Result<(), SinkError> {
        self.end_block(story, 0)?;
        self.threads -= u32::from(marker == Marker::Ended);
        if story.stretch.is_none() && marker != Marker::Ended {
            return Ok(());
        }
        self.order += 1;
        self.sink.mark(story.thread, OrderedMarker { order: self.order, marker })
    }

    fn enter(&mut self, story: &mut Story, stretch: Option<Stretch>) -> Result<(), SinkError> {
        let begin = stretch.map(|stretch| stretch.begin);
        if story.stretch == begin {
            return Ok(());
        }
        self.end_block(story, 0)?;
        story.stretch = begin;
        if let Some(Stretch { phase, .. }) = stretch {
            let skipped = std::mem::take(&mut story.skipped);
            self.mark(story, Marker::Begin { phase, skipped })?;
        }
        Ok(())
    }

    /// Tells the block that the story's instructions are, but for its last `missed` all executed.
    fn end_block(&mut self, story: &mut Story, missed: usize) -> Result<(), SinkError> {
        let Some(first) = story.run.first() else { return Ok(()) };
        let bytes: Vec<u8> = story.run.iter().flat_map(|code| code.bytes.iter().copied()).collect();
        let key = (first.address, bytes);
        let block = match self.known.get(&key) {
            Some(&block) => block,
            None => {
                let block = self.sink.define(story.block(key.1.clone()))?;
                self.known.insert(key, block);
                block
            }
        };
        let executed = (story.run.len() - missed) as u32;
        self.sink.execute(story.thread, block, executed, &story.values)?;
        story.run.clear();
        story.values.clear();
        Ok(())
    }
}

impl Story {
    fn is_followed_by(&self, code: &Code) -> bool {
        self.run.last().is_none_or(|last| last.address + last.bytes.len() as u64 == code.address)
    }

    fn block(&self, bytes: Vec<u8>) -> Block {
        let operands = self.run.iter().flat_map(|code| code.operands.iter());
        let operands: Vec<MemoryOperand> = operands.map(|(operand, _)| *operand).collect();
        Block {
            address: self.run[0].address,
            code: crate::Code::Bytes(bytes),
            instructions: self.run.iter().map(|code| code.instruction()).collect(),
            operands,
        }
    }
}
