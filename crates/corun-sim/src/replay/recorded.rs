//! A recorded thread, as a core takes it: once, over and over, or in step with the others of its process.

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{BlockId, Event, ThreadId, disassemble};

use crate::core::{InstructionSource, Next, Step};
use crate::memory::Pages;
use crate::replay::synchronised::{SynchronisedReplay, Taken};
use crate::uops::{DecodedBlock, Lowering};

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
    Ordered(SynchronisedReplay),
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
    ///
    /// `is_anew` says whether a round has begun since there was anything for the core.
    fn take(
        &mut self,
        values: &mut Vec<u64>,
        is_reexecuting: &mut bool,
    ) -> Result<Taken, FormatError> {
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
                None if *is_reexecuting => return Ok(Taken::End),
                None => {
                    *is_reexecuting = true;
                    let Course::Around { begin, .. } = self.course else { return Ok(Taken::End) };
                    self.events = self.trace.events_at(self.thread, begin)?;
                }
            }
        }
    }

    fn step(
        &mut self,
        code: &mut Vec<DecodedBlock>,
        values: &mut Vec<u64>,
    ) -> Result<Next, FormatError> {
        let mut is_reexecuting = false;
        loop {
            let (id, executed) = match self.take(values, &mut is_reexecuting)? {
                Taken::Block(id, executed) => (id, executed),
                Taken::SyncPoint => return Ok(Next::SyncPoint),
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

impl InstructionSource for Recorded<'_> {
    fn next(&mut self, _: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next {
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

    fn describe(&self, block: u32, instruction: u32) -> Option<String> {
        let id = self.blocks.iter().position(|known| *known == block)?;
        let block = self.trace.block(BlockId(id as u32));
        let (address, text) = disassemble(block).into_iter().nth(instruction as usize)?;
        Some(format!("`{text}` at {address:#x}"))
    }
}

#[cfg(test)]
mod tests {
    use corun_trace::convert::champsim::import;
    use corun_trace::format::{Options, Writer};

    use crate::replay::recorded::*;
    use corun_model::timing::TimingTable;

    #[test]
    fn a_thread_without_code_has_ended_however_often_it_goes_round() {
        let record = |address: u64| {
            let mut bytes = [0_u8; 64];
            bytes[..8].copy_from_slice(&address.to_le_bytes());
            bytes
        };
        let file = [record(0x1000), record(0x1004)].concat();
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        import(&file[..], &mut writer).unwrap();
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        assert!(matches!(trace.require_code(), Err(FormatError::NoCode { address: 0x1000 })));
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let lowering = Lowering::new(&model, &timings);
        let course = Course::Around { begin: 0, end: 2, first: 0 };
        let mut source =
            Recorded::new(lowering, &trace, ThreadId(0), Pages::one(), course).unwrap();
        assert_eq!(source.next(0, &mut Vec::new(), &mut Vec::new()), Next::End);
    }
}
