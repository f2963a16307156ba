//! The choice of threads: a trace may hold some threads of a program only.

use corun_record::Counter;

use crate::modules::Mappings;
use crate::{Block, BlockId, Marker, OrderedMarker, Sink, SinkError, ThreadId, TouchedLines};

/// A sink that passes on the requested threads and counts their instructions.
pub(crate) struct Filter<'a> {
    pub(crate) inner: &'a mut dyn Sink,
    /// All if it is empty.
    pub(crate) wanted: &'a [u32],
    /// Each thread's identity in the inner sink, if it is wanted.
    pub(crate) threads: Vec<Option<ThreadId>>,
    pub(crate) recorded: u64,
    /// Processes that the program started where it was recorded.
    pub(crate) processes: u32,
    /// The kernel's number of the first thread.
    pub(crate) task: Option<u32>,
    /// Mappings of its process.
    pub(crate) mappings: Mappings,
    /// Reports their number meanwhile.
    pub(crate) progress: Counter<'a>,
}

impl Sink for Filter<'_> {
    fn thread(&mut self, tid: u32) -> Result<ThreadId, SinkError> {
        if self.task.is_none() {
            // A short program ends before its blocks are read here.
            self.mappings.read(tid);
            self.task = Some(tid);
        }
        let number = self.threads.len() as u32;
        let is_wanted = self.wanted.is_empty() || self.wanted.contains(&number);
        let inner = if is_wanted { Some(self.inner.thread(tid)?) } else { None };
        self.threads.push(inner);
        Ok(ThreadId(number))
    }

    fn define(&mut self, block: Block) -> Result<BlockId, SinkError> {
        if let Some(task) = self.task {
            self.mappings.note(task, block.address);
        }
        self.inner.define(block)
    }

    #[inline]
    fn execute(
        &mut self,
        thread: ThreadId,
        block: BlockId,
        executed: u32,
        values: &[u64],
    ) -> Result<(), SinkError> {
        let Some(inner) = self.threads[thread.0 as usize] else { return Ok(()) };
        self.recorded += u64::from(executed);
        self.progress.add(u64::from(executed));
        self.inner.execute(inner, block, executed, values)
    }

    fn mark(&mut self, thread: ThreadId, marker: OrderedMarker) -> Result<(), SinkError> {
        self.processes += u32::from(matches!(marker.marker, Marker::Forked(_)));
        let Some(inner) = self.threads[thread.0 as usize] else { return Ok(()) };
        self.inner.mark(inner, marker)
    }

    fn touched(&mut self, thread: ThreadId, lines: TouchedLines) -> Result<(), SinkError> {
        let Some(inner) = self.threads[thread.0 as usize] else { return Ok(()) };
        self.inner.touched(inner, lines)
    }
}
