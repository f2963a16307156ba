//! A recorded thread, as a core takes it: once, over and over, or in step with the others of its process.

use std::cell::RefCell;
use std::rc::Rc;

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{Event, Marker, ThreadId};

use crate::code::{CodeBlock, Lowering};
use crate::core::{Feed, Next, Step};
use crate::memory::Pages;
use crate::order::Order;

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
    has_begun: bool,
    error: Option<FormatError>,
}

/// How a thread goes through its trace.
#[derive(Debug, Clone)]
pub(crate) enum Course {
    /// From its beginning to its end.
    Once,
    /// Over and over between two of its instructions; it begins at a third, before the end.
    Around { begin: u64, end: u64, first: u64 },
    /// Once, and never earlier than the other threads of its process let it.
    Ordered(Rc<RefCell<Order>>),
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
        let has_begun = !matches!(course, Course::Ordered(_));
        let error = None;
        Ok(Self { trace, thread, events, lowering, blocks, pages, course, has_begun, error })
    }

    /// What could not be read, if anything.
    pub(crate) fn error(&mut self) -> Result<(), FormatError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Goes back where its course says so. Returns whether it did.
    fn turn(&mut self) -> Result<bool, FormatError> {
        let Course::Around { begin, .. } = self.course else { return Ok(false) };
        self.events = self.trace.events_at(self.thread, begin)?;
        Ok(true)
    }

    fn step(
        &mut self,
        code: &mut Vec<CodeBlock>,
        values: &mut Vec<u64>,
    ) -> Result<Next, FormatError> {
        if !self.has_begun {
            return Ok(Next::Gate);
        }
        let mut is_anew = false;
        loop {
            let is_over = match self.course {
                Course::Around { end, .. } => self.events.instruction() >= end,
                _ => false,
            };
            let event = if is_over { None } else { self.events.next_event()? };
            let (id, executed) = match event {
                Some(Event::Block { block, executed, values: own }) => {
                    values.extend_from_slice(own);
                    (block, executed)
                }
                Some(Event::Marker(marker)) => match (&self.course, marker.marker) {
                    (_, Marker::Begin { .. }) => continue,
                    (Course::Ordered(_), _) => return Ok(Next::Gate),
                    _ => continue,
                },
                // What holds no instruction is not gone through again.
                None if is_anew => return Ok(Next::End),
                None => {
                    is_anew = true;
                    if self.turn()? {
                        continue;
                    }
                    return Ok(Next::End);
                }
            };
            let block = self.trace.block(id);
            let known = &mut self.blocks[id.0 as usize];
            if *known == NOWHERE {
                *known = code.len() as u32;
                code.push(self.lowering.lower(block));
            }
            if executed > 0 && !code[*known as usize].instructions.is_empty() {
                let address = block.address;
                return Ok(Next::Step(Step { block: *known, address, executed }));
            }
            values.clear();
        }
    }
}

impl Feed for Recorded<'_> {
    fn next(&mut self, _: u64, code: &mut Vec<CodeBlock>, values: &mut Vec<u64>) -> Next {
        self.step(code, values).unwrap_or_else(|error| {
            self.error = Some(error);
            if let Course::Ordered(order) = &self.course {
                order.borrow_mut().give_up();
            }
            Next::End
        })
    }

    fn pass(&mut self, now: u64) -> Option<u64> {
        match &self.course {
            Course::Ordered(order) if self.has_begun => {
                order.borrow_mut().pass(self.thread).then_some(now)
            }
            Course::Ordered(order) => {
                self.has_begun = order.borrow().begins(self.thread);
                self.has_begun.then_some(now)
            }
            _ => Some(now),
        }
    }

    fn pages(&self) -> Pages {
        self.pages
    }
}
