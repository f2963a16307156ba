//! A recorded thread, as a core takes it.

use std::collections::HashMap;

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{Event, ThreadId};

use crate::code::{CodeBlock, Lowering};
use crate::core::{Feed, Step};
use crate::memory::Pages;

/// A thread of a trace, block by block.
pub(crate) struct Recorded<'t> {
    trace: &'t Trace,
    events: Events<'t>,
    pub(crate) lowering: Lowering<'t>,
    /// Where the code of each block of the trace stands.
    blocks: HashMap<u32, u32>,
    pages: Pages,
    error: Option<FormatError>,
}

impl<'t> Recorded<'t> {
    /// A thread of a trace from its beginning, with the pages of its process.
    pub(crate) fn new(
        lowering: Lowering<'t>,
        trace: &'t Trace,
        thread: ThreadId,
        pages: Pages,
    ) -> Result<Self, FormatError> {
        let events = trace.events(thread)?;
        let blocks = HashMap::new();
        Ok(Self { trace, events, lowering, blocks, pages, error: None })
    }

    /// What could not be read, if anything.
    pub(crate) fn error(&mut self) -> Result<(), FormatError> {
        self.error.take().map_or(Ok(()), Err)
    }
}

impl Feed for Recorded<'_> {
    fn next(&mut self, code: &mut Vec<CodeBlock>, values: &mut Vec<u64>) -> Option<Step> {
        loop {
            let (id, executed) = match self.events.next_event() {
                Ok(Some(Event::Block { block, executed, values: own })) => {
                    values.extend_from_slice(own);
                    (block, executed)
                }
                Ok(Some(Event::Marker(_))) => continue,
                Ok(None) => return None,
                Err(error) => {
                    self.error = Some(error);
                    return None;
                }
            };
            let block = self.trace.block(id);
            let lowering = &mut self.lowering;
            let known = self.blocks.entry(id.0).or_insert_with(|| {
                code.push(lowering.lower(block));
                (code.len() - 1) as u32
            });
            if executed > 0 && !code[*known as usize].instructions.is_empty() {
                return Some(Step { block: *known, address: block.address, executed });
            }
            values.clear();
        }
    }

    fn pages(&self) -> Pages {
        self.pages
    }
}
