//! A trace in memory, for short runs and for tests.

use crate::{
    Access, Block, BlockId, Event, OrderedMarker, Sink, SinkError, ThreadId, TouchedLines, accesses,
};

/// Everything a tracer recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// By identity.
    pub blocks: Vec<Block>,
    /// By identity.
    pub threads: Vec<RecordedThread>,
}

/// Recording of one thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedThread {
    /// Number in the kernel.
    pub tid: u32,
    /// The lines that it touched up to some places of its run.
    pub touched: Vec<TouchedLines>,
    steps: Vec<Step>,
    values: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Block { block: BlockId, executed: u32, values: usize },
    Marker(OrderedMarker),
}

impl Recording {
    /// Events of a thread, in its order.
    pub fn events(&self, thread: ThreadId) -> impl Iterator<Item = Event<'_>> {
        let thread = &self.threads[thread.0 as usize];
        let mut values = &thread.values[..];
        thread.steps.iter().map(move |step| match *step {
            Step::Block { block, executed, values: count } => {
                let (own, rest) = values.split_at(count);
                values = rest;
                Event::Block { block, executed, values: own }
            }
            Step::Marker(marker) => Event::Marker(marker),
        })
    }

    /// The instructions of a thread: the address of each.
    pub fn instructions(&self, thread: ThreadId) -> impl Iterator<Item = u64> {
        self.executions(thread)
            .flat_map(|(block, executed, _)| block.addresses().take(executed as usize))
    }

    /// The accesses of a thread to memory.
    pub fn accesses(&self, thread: ThreadId) -> impl Iterator<Item = Access> {
        self.executions(thread)
            .flat_map(|(block, executed, values)| accesses(block, executed, values))
    }

    fn executions(&self, thread: ThreadId) -> impl Iterator<Item = (&Block, u32, &[u64])> {
        self.events(thread).filter_map(|event| match event {
            Event::Block { block, executed, values } => {
                Some((&self.blocks[block.0 as usize], executed, values))
            }
            Event::Marker(_) => None,
        })
    }
}

impl Sink for Recording {
    fn thread(&mut self, tid: u32) -> Result<ThreadId, SinkError> {
        self.threads.push(RecordedThread { tid, ..RecordedThread::default() });
        Ok(ThreadId(self.threads.len() as u32 - 1))
    }

    fn define(&mut self, block: Block) -> Result<BlockId, SinkError> {
        self.blocks.push(block);
        Ok(BlockId(self.blocks.len() as u32 - 1))
    }

    fn execute(
        &mut self,
        thread: ThreadId,
        block: BlockId,
        executed: u32,
        values: &[u64],
    ) -> Result<(), SinkError> {
        let thread = &mut self.threads[thread.0 as usize];
        thread.steps.push(Step::Block { block, executed, values: values.len() });
        thread.values.extend_from_slice(values);
        Ok(())
    }

    fn mark(&mut self, thread: ThreadId, marker: OrderedMarker) -> Result<(), SinkError> {
        self.threads[thread.0 as usize].steps.push(Step::Marker(marker));
        Ok(())
    }

    fn touched(&mut self, thread: ThreadId, lines: TouchedLines) -> Result<(), SinkError> {
        self.threads[thread.0 as usize].touched.push(lines);
        Ok(())
    }
}
