//! From single instructions to what a sink takes: blocks, each defined once, and markers.

use std::collections::HashMap;
use std::iter::Peekable;
use std::rc::Rc;

use super::code::Code;
use crate::{
    Block, BlockId, Interval, Marker, MemoryOperand, OrderedMarker, Sink, SinkError, ThreadId,
    TracePlan,
};

/// Limit of a block that does not branch, in instructions.
const LONGEST_BLOCK: usize = 64;

/// Passes to the sink what the plan asks for.
pub(super) struct BlockBuilder<'a> {
    sink: &'a mut dyn Sink,
    known: HashMap<(u64, Vec<u8>), BlockId>,
    order: u64,
    intervals: Peekable<Box<dyn Iterator<Item = Interval>>>,
    /// Instructions of all threads, recorded or not.
    pub instructions: u64,
    /// Those of them that no block can hold.
    pub left_out: u64,
    last: Option<ThreadId>,
    /// Number of threads.
    threads: u32,
}

/// Instructions that a thread has executed since its last block ended.
#[derive(Debug)]
pub(super) struct PendingBlock {
    thread: ThreadId,
    run: Vec<Rc<Code>>,
    values: Vec<u64>,
    /// Begin of the interval that is being recorded.
    interval: Option<u64>,
    skipped: u64,
}

impl<'a> BlockBuilder<'a> {
    pub(super) fn new(plan: TracePlan, sink: &'a mut dyn Sink) -> Self {
        let intervals = crate::intervals(plan).peekable();
        Self {
            sink,
            known: HashMap::new(),
            order: 0,
            intervals,
            instructions: 0,
            left_out: 0,
            last: None,
            threads: 0,
        }
    }

    /// A new thread's.
    pub(super) fn begin(&mut self, tid: u32) -> Result<PendingBlock, SinkError> {
        let thread = self.sink.thread(tid)?;
        self.threads += 1;
        Ok(PendingBlock { thread, run: Vec::new(), values: Vec::new(), interval: None, skipped: 0 })
    }

    /// The interval that the next instruction belongs to, if it is to be recorded.
    pub(super) fn interval(&mut self) -> Option<Interval> {
        while self.intervals.next_if(|interval| interval.end <= self.instructions).is_some() {}
        self.intervals.peek().copied().filter(|interval| interval.begin <= self.instructions)
    }

    /// An instruction was executed, with these values of its operands, in an interval or in none.
    pub(super) fn execute(
        &mut self,
        pending: &mut PendingBlock,
        code: &Rc<Code>,
        values: &[u64],
        interval: Option<Interval>,
    ) -> Result<(), SinkError> {
        self.instructions += 1;
        self.enter(pending, interval)?;
        if interval.is_none() {
            pending.skipped += 1;
            return Ok(());
        }
        if self.last != Some(pending.thread) {
            if self.last.is_some() {
                self.mark(pending, Marker::Switch)?;
            }
            self.last = Some(pending.thread);
        }
        if code.is_atomic && self.threads > 1 {
            self.mark(pending, Marker::Atomic)?;
        }
        if !pending.is_followed_by(code) {
            self.end_block(pending, 0)?;
        }
        pending.run.push(Rc::clone(code));
        pending.values.extend_from_slice(values);
        if code.branches || pending.run.len() == LONGEST_BLOCK {
            self.end_block(pending, 0)?;
        }
        Ok(())
    }

    /// An instruction was executed that the decoder does not know.
    pub(super) fn leave_out(&mut self, pending: &mut PendingBlock) -> Result<(), SinkError> {
        self.instructions += 1;
        self.left_out += 1;
        self.end_block(pending, 0)
    }

    /// A signal comes before the next instruction.
    pub(super) fn interrupt(
        &mut self,
        pending: &mut PendingBlock,
        next: Option<&Rc<Code>>,
        signal: u32,
    ) -> Result<(), SinkError> {
        match next {
            Some(next) if !pending.run.is_empty() && pending.is_followed_by(next) => {
                pending.run.push(Rc::clone(next));
                self.end_block(pending, 1)?;
            }
            _ => self.end_block(pending, 0)?,
        }
        self.mark(pending, Marker::Signal(signal))
    }

    /// Something else happened; it is recorded if the thread is being recorded.
    pub(super) fn mark(
        &mut self,
        pending: &mut PendingBlock,
        marker: Marker,
    ) -> Result<(), SinkError> {
        self.end_block(pending, 0)?;
        self.threads -= u32::from(marker == Marker::Ended);
        if pending.interval.is_none() && marker != Marker::Ended {
            return Ok(());
        }
        self.order += 1;
        self.sink.mark(pending.thread, OrderedMarker { order: self.order, marker })
    }

    fn enter(
        &mut self,
        pending: &mut PendingBlock,
        interval: Option<Interval>,
    ) -> Result<(), SinkError> {
        let begin = interval.map(|interval| interval.begin);
        if pending.interval == begin {
            return Ok(());
        }
        self.end_block(pending, 0)?;
        pending.interval = begin;
        if let Some(Interval { phase, .. }) = interval {
            let skipped = std::mem::take(&mut pending.skipped);
            self.mark(pending, Marker::Begin { phase, skipped })?;
        }
        Ok(())
    }

    /// Reports the block that the pending's instructions are, but for its last `missed` all executed.
    fn end_block(&mut self, pending: &mut PendingBlock, missed: usize) -> Result<(), SinkError> {
        let Some(first) = pending.run.first() else { return Ok(()) };
        let bytes: Vec<u8> =
            pending.run.iter().flat_map(|code| code.bytes.iter().copied()).collect();
        let key = (first.address, bytes);
        let block = match self.known.get(&key) {
            Some(&block) => block,
            None => {
                let block = self.sink.define(pending.block(key.1.clone()))?;
                self.known.insert(key, block);
                block
            }
        };
        let executed = (pending.run.len() - missed) as u32;
        self.sink.execute(pending.thread, block, executed, &pending.values)?;
        pending.run.clear();
        pending.values.clear();
        Ok(())
    }
}

impl PendingBlock {
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
