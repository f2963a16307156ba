//! A recorded thread, as a core takes it: once, over and over, or in step with the others of its process.

use corun_record::{Counter, Progress};
use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{BlockId, Event, ThreadId, disassemble};

use crate::core::{InstructionSource, Next, Step};
use crate::memory::Pages;
use crate::replay::synchronised::{ReplayAction, SynchronisedReplay};
use crate::uops::{DecodedBlock, Lowering};
use rustc_hash::FxHashMap;

/// The place of code that was not lowered yet.
const NOWHERE: u32 = u32::MAX;

/// A thread of a trace, block by block.
pub(crate) struct Recorded<'t> {
    trace: &'t Trace,
    thread: ThreadId,
    events: Events<'t>,
    pub(crate) lowering: Lowering<'t>,
    /// Place of the code of each block of the trace, or `NOWHERE` before it is executed.
    blocks: Vec<u32>,
    pages: Pages,
    replay: Replay,
    /// The decoded window of a looping replay, from its second round on.
    window: Option<Window>,
    error: Option<FormatError>,
    /// Instructions that the core was given.
    given: Counter<'t>,
}

/// Progress of a thread through its trace.
#[derive(Debug)]
pub(crate) enum Replay {
    /// From this instruction to its last.
    From(u64),
    /// Again and again from `begin` to `end`; the first round starts at `first`, which is below `end`.
    Looping { begin: u64, end: u64, first: u64 },
    /// Once, in step with the other threads of its process.
    Synchronised(SynchronisedReplay),
}

/// Instructions of the longest window that is kept decoded. A longer one is decoded again each round, from the
/// frame that holds its first instruction.
const KEPT_WINDOW: u64 = 1 << 20;

/// The decoded blocks of a window, so that a round costs the window alone: a trace is decoded from the begin of a
/// frame only, which may lie millions of instructions before the window.
#[derive(Debug, Default)]
struct Window {
    blocks: Vec<WindowBlock>,
    values: Vec<u64>,
    /// The block that comes next.
    next: usize,
}

#[derive(Debug)]
struct WindowBlock {
    block: BlockId,
    executed: u32,
    /// End of its values; they begin where those of the block before it end.
    values_end: usize,
}

impl Window {
    /// Decodes what `events` give before the instruction `end`.
    fn decode(events: &mut Events<'_>, end: u64) -> Result<Self, FormatError> {
        let mut window = Self::default();
        while events.instruction() < end
            && let Some(event) = events.next_event()?
        {
            if let Event::Block { block, executed, values } = event {
                window.values.extend_from_slice(values);
                let values_end = window.values.len();
                window.blocks.push(WindowBlock { block, executed, values_end });
            }
        }
        Ok(window)
    }

    /// The next block, whose values are appended to `values`; `None` at the end of a round.
    fn next(&mut self, values: &mut Vec<u64>) -> Option<(BlockId, u32)> {
        let &WindowBlock { block, executed, values_end } = self.blocks.get(self.next)?;
        let values_begin = self.next.checked_sub(1).map_or(0, |last| self.blocks[last].values_end);
        values.extend_from_slice(&self.values[values_begin..values_end]);
        self.next += 1;
        Some((block, executed))
    }
}

impl<'t> Recorded<'t> {
    /// A thread of a trace, with the pages of its process; `progress` hears how many instructions the core was given.
    pub(crate) fn new(
        lowering: Lowering<'t>,
        trace: &'t Trace,
        thread: ThreadId,
        pages: Pages,
        replay: Replay,
        progress: &'t dyn Progress,
    ) -> Result<Self, FormatError> {
        let events = match replay {
            Replay::Looping { first, .. } | Replay::From(first) => {
                trace.events_at(thread, first)?
            }
            Replay::Synchronised(_) => trace.events(thread)?,
        };
        let blocks = vec![NOWHERE; trace.blocks().len()];
        let (window, error, given) = (None, None, Counter::new(progress));
        Ok(Self { trace, thread, events, lowering, blocks, pages, replay, window, error, given })
    }

    /// Instructions of the thread before the block that comes next, recorded or not.
    pub(crate) fn place(&self) -> u64 {
        self.events.instruction()
    }

    /// The blocks that were executed, by the place of their code.
    pub(crate) fn executed_blocks(&self) -> FxHashMap<u32, BlockId> {
        let executed = (0..).zip(&self.blocks).filter(|(_, place)| **place != NOWHERE);
        executed.map(|(id, place)| (*place, BlockId(id))).collect()
    }

    /// The error of reading, if there is one.
    pub(crate) fn error(&mut self) -> Result<(), FormatError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// The next block and its values.
    ///
    /// `has_restarted` says whether a round has begun since the core was given a block.
    fn take(
        &mut self,
        values: &mut Vec<u64>,
        has_restarted: &mut bool,
    ) -> Result<ReplayAction, FormatError> {
        loop {
            if let Some(window) = &mut self.window {
                if let Some((block, executed)) = window.next(values) {
                    return Ok(ReplayAction::Block(block, executed));
                }
                if *has_restarted {
                    return Ok(ReplayAction::End);
                }
                (window.next, *has_restarted) = (0, true);
                continue;
            }
            let is_over = match &mut self.replay {
                Replay::Synchronised(own) => return own.next(&mut self.events, values),
                Replay::Looping { end, .. } => self.events.instruction() >= *end,
                Replay::From(_) => false,
            };
            let event = if is_over { None } else { self.events.next_event()? };
            match event {
                Some(Event::Block { block, executed, values: own }) => {
                    values.extend_from_slice(own);
                    return Ok(ReplayAction::Block(block, executed));
                }
                Some(Event::Marker(_)) => {}
                // A window without instructions is not repeated.
                None if *has_restarted => return Ok(ReplayAction::End),
                None => {
                    *has_restarted = true;
                    let Replay::Looping { begin, end, .. } = self.replay else {
                        return Ok(ReplayAction::End);
                    };
                    self.events = self.trace.events_at(self.thread, begin)?;
                    if end - begin <= KEPT_WINDOW {
                        self.window = Some(Window::decode(&mut self.events, end)?);
                    }
                }
            }
        }
    }

    fn step(
        &mut self,
        code: &mut Vec<DecodedBlock>,
        values: &mut Vec<u64>,
    ) -> Result<Next, FormatError> {
        let mut has_restarted = false;
        loop {
            let (id, executed) = match self.take(values, &mut has_restarted)? {
                ReplayAction::Block(id, executed) => (id, executed),
                ReplayAction::SyncPoint => return Ok(Next::SyncPoint),
                ReplayAction::End => return Ok(Next::End),
            };
            let block = self.trace.block(id);
            let known = &mut self.blocks[id.0 as usize];
            if *known == NOWHERE {
                let lowered = self.lowering.lower(block);
                let [expected, found] = [block.instructions.len(), lowered.instructions.len()];
                // A block without code has none of them.
                if found != 0 && found != expected {
                    return Err(FormatError::Code { address: block.address, expected, found });
                }
                *known = code.len() as u32;
                code.push(lowered);
            }
            if executed > 0 && !code[*known as usize].instructions.is_empty() {
                self.lowering.count(&code[*known as usize], executed as usize);
                let address = block.address;
                self.given.add(u64::from(executed));
                return Ok(Next::Step(Step { block: *known, address, executed }));
            }
            values.clear();
            if let Replay::Synchronised(own) = &mut self.replay {
                own.leave_out();
            }
        }
    }
}

impl InstructionSource for Recorded<'_> {
    fn next(&mut self, _: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next {
        self.step(code, values).unwrap_or_else(|error| {
            self.error = Some(error);
            if let Replay::Synchronised(own) = &self.replay {
                own.give_up();
            }
            Next::End
        })
    }

    fn pass(&mut self, now: u64) -> Option<u64> {
        match &mut self.replay {
            Replay::Synchronised(own) => own.pass().then_some(now),
            _ => Some(now),
        }
    }

    fn retire(&mut self, instructions: u64) {
        if let Replay::Synchronised(own) = &mut self.replay {
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

    use corun_model::timing::TimingTable;
    use corun_record::Unwatched;
    use corun_trace::{Sink, decode};

    use crate::replay::recorded::*;

    /// A trace of blocks of one to three NOPs and a load, in an order without a period.
    fn made() -> Trace {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let thread = writer.thread(1).unwrap();
        let blocks = [1, 2, 3].map(|nops| {
            let code = [&[0x90].repeat(nops)[..], &[0x48, 0x8b, 0x03]].concat();
            let block = decode(0x1000 * nops as u64, &code).unwrap();
            (writer.define(block).unwrap(), nops as u32 + 1)
        });
        for number in 0..200_u64 {
            let (block, count) = blocks[(number * number % 7 % 3) as usize];
            writer.execute(thread, block, count, &[0x8000 + number]).unwrap();
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    #[test]
    fn every_round_of_a_looping_replay_gives_the_window() {
        let trace = made();
        let (begin, end, first) = (101, 143, 120);
        let expected = |from: u64| {
            let mut events = trace.events_at(ThreadId(0), from).unwrap();
            let mut values = Vec::new();
            while events.instruction() < end {
                let Some(Event::Block { values: own, .. }) = events.next_event().unwrap() else {
                    continue;
                };
                values.extend_from_slice(own);
            }
            values
        };
        let all = [expected(first), expected(begin), expected(begin), expected(begin)].concat();
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let lowering = Lowering::new(&model, &timings);
        let replay = Replay::Looping { begin, end, first };
        let mut source =
            Recorded::new(lowering, &trace, ThreadId(0), Pages::one(), replay, &Unwatched).unwrap();
        let (mut code, mut values) = (Vec::new(), Vec::new());
        for _ in 0..all.len() {
            assert!(matches!(source.next(0, &mut code, &mut values), Next::Step(_)));
        }
        assert_eq!(values, all);
    }

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
        let replay = Replay::Looping { begin: 0, end: 2, first: 0 };
        let mut source =
            Recorded::new(lowering, &trace, ThreadId(0), Pages::one(), replay, &Unwatched).unwrap();
        assert_eq!(source.next(0, &mut Vec::new(), &mut Vec::new()), Next::End);
    }

    #[test]
    fn code_that_is_not_that_of_its_instructions_is_damage() {
        let mut block = decode(0x1000, &[0xb8, 1, 0, 0, 0]).unwrap();
        let [whole] = block.instructions[..] else { panic!("one instruction") };
        block.instructions =
            [2, 3].map(|length| corun_trace::Instruction { length, ..whole }).to_vec();
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let thread = writer.thread(1).unwrap();
        let block = writer.define(block).unwrap();
        writer.execute(thread, block, 2, &[]).unwrap();
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let lowering = Lowering::new(&model, &timings);
        let replay = Replay::Looping { begin: 0, end: 2, first: 0 };
        let mut source =
            Recorded::new(lowering, &trace, ThreadId(0), Pages::one(), replay, &Unwatched).unwrap();
        assert_eq!(source.next(0, &mut Vec::new(), &mut Vec::new()), Next::End);
        let error = source.error.expect("the trace is damaged");
        assert!(matches!(error, FormatError::Code { expected: 2, found: 1, .. }), "{error}");
    }
}
