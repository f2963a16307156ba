//! A recorded thread, as a core takes it: once, over and over, or in step with the others of its process.

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{Event, ThreadId};

use crate::code::{CodeBlock, Lowering};
use crate::core::{Feed, Next, Step};
use crate::in_step::{InStep, Taken};
use crate::memory::Pages;

/// The place of code that was not lowered yet.
const NOWHERE: u32 = u32::MAX;

/// A thread of a trace, block by block.
pub(crate) struct Recorded<'t> {
    trace: &'t Trace,
    thread: ThreadId,
    events: Events<'t>,
    pub(crate) lowering: Lowering<'t>,
    /// Where the code of each block of the trace stands, or `NOWHERE` before it is executed.
    blocks: Vec<u32>,
    pages: Pages,
    course: Course,
    error: Option<FormatError>,
}

/// How a thread goes through its trace.
#[derive(Debug)]
pub(crate) enum Course {
    /// From its beginning to its end.
    Once,
    /// Over and over between two of its instructions; it begins at a third, before the end.
    Around { begin: u64, end: u64, first: u64 },
    /// Once, and never earlier than the other threads of its process let it.
    Ordered(InStep),
}

impl<'t> Recorded<'t> {
    /// A thread of a trace, with the pages of its process.
    pub(crate) fn new(
        lowering: Lowering<'t>,
        trace: &'t Trace,
        thread: ThreadId,
        pages: Pages,
        course: Course,
    ) -> Result<Self, FormatError> {
        let events = match course {
            Course::Around { first, .. } => trace.events_at(thread, first)?,
            _ => trace.events(thread)?,
        };
        let blocks = vec![NOWHERE; trace.blocks().len()];
        Ok(Self { trace, thread, events, lowering, blocks, pages, course, error: None })
    }

    /// What could not be read, if anything.
    pub(crate) fn error(&mut self) -> Result<(), FormatError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// The next block and its values.
    fn take(&mut self, values: &mut Vec<u64>) -> Result<Taken, FormatError> {
        let mut is_anew = false;
        loop {
            let is_over = match &mut self.course {
                Course::Ordered(own) => return own.next(&mut self.events, values),
                Course::Around { end, .. } => self.events.instruction() >= *end,
                Course::Once => false,
            };
            let event = if is_over { None } else { self.events.next_event()? };
            match event {
                Some(Event::Block { block, executed, values: own }) => {
                    values.extend_from_slice(own);
                    return Ok(Taken::Block(block, executed));
                }
                Some(Event::Marker(_)) => {}
                // What holds no instruction is not gone through again.
                None if is_anew => return Ok(Taken::End),
                None => {
                    is_anew = true;
                    let Course::Around { begin, .. } = self.course else { return Ok(Taken::End) };
                    self.events = self.trace.events_at(self.thread, begin)?;
                }
            }
        }
    }

    fn step(
        &mut self,
        code: &mut Vec<CodeBlock>,
        values: &mut Vec<u64>,
    ) -> Result<Next, FormatError> {
        loop {
            let (id, executed) = match self.take(values)? {
                Taken::Block(id, executed) => (id, executed),
                Taken::Gate => return Ok(Next::Gate),
                Taken::End => return Ok(Next::End),
            };
            let block = self.trace.block(id);
            let known = &mut self.blocks[id.0 as usize];
            if *known == NOWHERE {
                *known = code.len() as u32;
                code.push(self.lowering.lower(block));
            }
            if executed > 0 && !code[*known as usize].instructions.is_empty() {
                self.lowering.count(&code[*known as usize], executed as usize);
                let address = block.address;
                return Ok(Next::Step(Step { block: *known, address, executed }));
            }
            values.clear();
            if let Course::Ordered(own) = &mut self.course {
                own.leave_out();
            }
        }
    }
}

impl Feed for Recorded<'_> {
    fn next(&mut self, _: u64, code: &mut Vec<CodeBlock>, values: &mut Vec<u64>) -> Next {
        self.step(code, values).unwrap_or_else(|error| {
            self.error = Some(error);
            if let Course::Ordered(own) = &self.course {
                own.give_up();
            }
            Next::End
        })
    }

    fn pass(&mut self, now: u64) -> Option<u64> {
        match &mut self.course {
            Course::Ordered(own) => own.pass().then_some(now),
            _ => Some(now),
        }
    }

    fn retire(&mut self, instructions: u64) {
        if let Course::Ordered(own) = &mut self.course {
            own.retire(instructions);
        }
    }

    fn pages(&self) -> Pages {
        self.pages
    }
}
