//! A recorded thread, as a core takes it.

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{Event, ThreadId};

use crate::code::{CodeBlock, Lowering};
use crate::core::{Feed, Step};
use crate::memory::Pages;

/// The place of code that was not lowered yet.
const NOWHERE: u32 = u32::MAX;

/// A thread of a trace, block by block.
pub(crate) struct Recorded<'t> {
    trace: &'t Trace,
    events: Events<'t>,
    pub(crate) lowering: Lowering<'t>,
    /// Where the code of each block of the trace stands, or `NOWHERE` before it is executed.
    blocks: Vec<u32>,
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
        let blocks = vec![NOWHERE; trace.blocks().len()];
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
            let known = &mut self.blocks[id.0 as usize];
            if *known == NOWHERE {
                *known = code.len() as u32;
                code.push(self.lowering.lower(block));
            }
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
