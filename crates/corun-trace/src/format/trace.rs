//! Reading a trace file: its metadata and blocks at once, then any thread from any instruction on.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::slice;

use corun_record::Stage;

use super::error::FormatError;
use super::events::{EventReader, Head, Step};
use super::frame::Kind;
use super::index::{Entry, EntryContent};
use super::lines::read_lines;
use super::metadata::{Closing, Opening};
use super::scan::{self, Map};
use super::source::Source;
use crate::{Block, BlockId, Event, Phase, ThreadId, TouchedLines};

/// A trace whose threads can be read at any place, several at once.
#[derive(Debug)]
pub struct Trace {
    source: Source,
    opening: Opening,
    map: Map,
    threads: Vec<Thread>,
}

/// A recorded thread.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Identity of the thread.
    pub id: ThreadId,
    /// Number in the kernel.
    pub tid: u32,
    /// Recorded instructions.
    pub instructions: u64,
    frames: Vec<Frame>,
    /// The frames of touched lines: where in the thread they belong, and where in the file they lie.
    touched: Vec<(u64, u64)>,
}

/// A frame of a thread's events.
#[derive(Debug, Clone, Copy)]
struct Frame {
    offset: u64,
    head: Head,
}

impl Thread {
    /// Number of instructions it had executed before its first recorded one.
    pub fn begin(&self) -> u64 {
        self.frames.first().map_or(0, |frame| frame.head.first_instruction)
    }

    /// Number of instructions it had executed, recorded or not, after its last recorded one.
    pub fn end(&self) -> u64 {
        self.frames.last().map_or(0, |frame| frame.head.first_instruction + frame.head.instructions)
    }
}

impl Trace {
    /// Opens a file. One without an end is read up to its last whole frame.
    ///
    /// # Errors
    /// If it cannot be read, is no trace, or is damaged before its first events.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let unreadable = |source| FormatError::Unreadable { at: 0, source };
        Self::from_file(corun_files::random(path).map_err(unreadable)?)
    }

    /// As [`Trace::open`], of a file that is open already.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_file(file: File) -> Result<Self, FormatError> {
        let unreadable = |source| FormatError::Unreadable { at: 0, source };
        let length = file.metadata().map_err(unreadable)?.len();
        Self::read(Source::File { file, length })
    }

    /// A trace that lies in memory.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, FormatError> {
        Self::read(Source::Bytes(bytes))
    }

    fn read(source: Source) -> Result<Self, FormatError> {
        let mut map = scan::map(&source)?;
        let opening = map.contents.opening.take().ok_or_else(|| {
            FormatError::damaged(0, "an opening in the index", "an index without one")
        })?;
        let threads = threads(&map);
        Ok(Self { source, opening, map, threads })
    }

    /// Opening: what is traced and how.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Closing; nothing if the trace has no end, because its writer died or the file was cut.
    pub fn closing(&self) -> Option<&Closing> {
        self.map.contents.closing.as_ref()
    }

    /// Damage: where the trace cannot be read further, and why; nothing where the file merely ends.
    pub fn damage(&self) -> Option<&FormatError> {
        self.map.damage.as_ref()
    }

    /// True if its writer came to the end, so that nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.map.has_end && self.map.damage.is_none()
    }

    /// All blocks, by identity.
    pub fn blocks(&self) -> &[Block] {
        &self.map.contents.blocks
    }

    /// Refuses a trace that lacks the bytes of some instructions, as imported ones do: code that decodes or simulates
    /// instructions asks this before any work begins.
    ///
    /// # Errors
    /// If a block has no bytes.
    pub fn require_code(&self) -> Result<(), FormatError> {
        let without = self.blocks().iter().find(|block| block.bytes().is_none_or(<[u8]>::is_empty));
        without.map_or(Ok(()), |block| Err(FormatError::NoCode { address: block.address }))
    }

    /// The block that an event of this trace names.
    ///
    /// # Panics
    /// If it is not one of this trace.
    pub fn block(&self, block: BlockId) -> &Block {
        &self.map.contents.blocks[block.0 as usize]
    }

    /// The threads of which something was recorded or counted, by identity.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The work of reading all that is recorded, or what is recorded of one thread.
    pub fn stage(&self, what: &str, thread: Option<ThreadId>) -> Stage {
        let is_read = |it: &&Thread| thread.is_none_or(|thread| thread == it.id);
        let read = self.threads().iter().filter(is_read).map(|it| it.instructions);
        Stage::new(what, "instructions", read.fold(0, u64::saturating_add))
    }

    /// Events of a thread, from its first recorded instruction on.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn events(&self, thread: ThreadId) -> Result<Events<'_>, FormatError> {
        let thread = self.thread(thread)?;
        Ok(Events {
            trace: self,
            thread: thread.id,
            frames: thread.frames.iter(),
            current: None,
            reader: EventReader::default(),
            payload: Vec::new(),
            pending: None,
        })
    }

    /// Events of a thread, from the block on that holds its instruction with this number, counted from
    /// 0 and over those not recorded; if that is not recorded, from the next recorded one on.
    ///
    /// # Errors
    /// If there is no such thread, or the trace is damaged there.
    pub fn events_at(&self, thread: ThreadId, instruction: u64) -> Result<Events<'_>, FormatError> {
        let mut events = self.events(thread)?;
        let frames = events.frames.as_slice();
        let ends_before =
            |frame: &Frame| frame.head.first_instruction + frame.head.instructions <= instruction;
        events.frames = frames[frames.partition_point(ends_before)..].iter();
        events.advance_to(instruction)?;
        Ok(events)
    }

    /// The places up to which there are lists of the lines that a thread has touched, each since the one before, in
    /// instructions of the thread.
    pub fn touched_at(&self, thread: ThreadId) -> impl DoubleEndedIterator<Item = u64> {
        let own = self.threads.iter().find(|known| known.id == thread);
        own.into_iter().flat_map(|own| own.touched.iter().map(|&(position, _)| position))
    }

    /// The lines that a thread has touched up to one of the [places](Self::touched_at), by number.
    ///
    /// # Errors
    /// If there is no such list, or the trace is damaged there.
    pub fn touched(&self, thread: ThreadId, number: usize) -> Result<TouchedLines, FormatError> {
        let own = self.thread(thread)?;
        let (offset, expected) = match own.touched.get(number) {
            Some(&(position, offset)) => {
                (offset, format!("lines touched by thread {} up to {position}", thread.0))
            }
            None => (0, format!("a list of touched lines with the number {number}")),
        };
        let mut content = Vec::new();
        let found = match self.source.frame(offset, &mut Vec::new(), &mut content)? {
            Some(header) if (header.kind, header.thread) == (Kind::Lines, thread.0) => {
                let lines = read_lines(&content).map_err(|defect| defect.in_frame(offset))?;
                if own.touched.get(number) == Some(&(lines.position, offset)) {
                    return Ok(lines);
                }
                format!("lines touched up to {}", lines.position)
            }
            Some(header) => format!("{:?} frame of thread {}", header.kind, header.thread),
            None => "the end of the file".to_owned(),
        };
        Err(FormatError::damaged(offset, expected, found))
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The frames, as the index lists them, or as they were found without one.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.map.entries
    }

    fn thread(&self, thread: ThreadId) -> Result<&Thread, FormatError> {
        let own = self.threads.iter().find(|known| known.id == thread);
        own.ok_or_else(|| self.lacks(thread))
    }

    /// The reason why a thread is not there: damage, behind which it may lie, or that there is none of this number.
    pub fn lacks(&self, thread: ThreadId) -> FormatError {
        if let Some(FormatError::Damaged { frame, expected, found }) = self.damage() {
            return FormatError::damaged(*frame, expected, found);
        }
        if let Some(rest) = self.map.rest() {
            return rest;
        }
        let threads = self.threads.iter().map(|known| known.id.0).collect();
        FormatError::NoThread { threads, found: thread.0 }
    }
}

fn threads(map: &Map) -> Vec<Thread> {
    let closed = map.contents.closing.iter().flat_map(|closing| &closing.threads);
    let thread = |(id, tid)| {
        let (frames, touched) = (Vec::new(), Vec::new());
        (id, Thread { id: ThreadId(id), tid, instructions: 0, frames, touched })
    };
    let mut threads: BTreeMap<u32, Thread> =
        (0..).zip(closed.map(|closed| closed.tid)).map(thread).collect();
    for entry in &map.entries {
        if let EntryContent::Events { thread: id, head } = entry.content {
            let known = threads.entry(id).or_insert_with(|| thread((id, head.tid)).1);
            known.instructions += head.instructions;
            known.frames.push(Frame { offset: entry.offset, head });
        }
    }
    // Lines of a thread of which nothing else is known are of no use.
    for entry in &map.entries {
        if let EntryContent::Lines { thread: id, position } = entry.content
            && let Some(known) = threads.get_mut(&id)
        {
            known.touched.push((position, entry.offset));
        }
    }
    threads.into_values().collect()
}

/// Events of a thread, in its order.
///
/// Not an `Iterator`, since the values of an event are overwritten by the next.
#[derive(Debug)]
pub struct Events<'t> {
    trace: &'t Trace,
    thread: ThreadId,
    frames: slice::Iter<'t, Frame>,
    current: Option<Frame>,
    reader: EventReader,
    payload: Vec<u8>,
    /// Step that was decoded but not yet returned.
    pending: Option<Step>,
}

impl Events<'_> {
    /// The next event, or `None` after the last.
    ///
    /// # Errors
    /// If the trace is damaged here; nothing follows then.
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, FormatError> {
        let step = match self.pending.take() {
            Some(step) => Some(step),
            None => self.step()?,
        };
        Ok(step.map(|step| self.reader.event(step)))
    }

    /// Number of instructions the thread had executed, recorded or not, after the event that was given last.
    pub fn instruction(&self) -> u64 {
        match self.pending {
            Some(Step::Block { executed, .. }) => {
                self.reader.next_instruction() - u64::from(executed)
            }
            _ => self.reader.next_instruction(),
        }
    }

    /// Phase of the interval in which the reader is.
    pub fn phase(&self) -> Phase {
        self.current.map_or(Phase::Counted, |frame| frame.head.phase)
    }

    fn advance_to(&mut self, instruction: u64) -> Result<(), FormatError> {
        self.open_next()?;
        while self.current.is_some() && self.reader.next_instruction() < instruction {
            let step = self.step()?;
            if self.reader.next_instruction() > instruction {
                self.pending = step;
            }
        }
        Ok(())
    }

    #[inline]
    fn step(&mut self) -> Result<Option<Step>, FormatError> {
        loop {
            if let Some(frame) = self.current {
                match self.reader.step(&self.trace.map.contents.shapes) {
                    Ok(Some(step)) => return Ok(Some(step)),
                    Ok(None) => {}
                    Err(defect) => return Err(self.give_up(defect.in_frame(frame.offset))),
                }
            }
            self.open_next()?;
            if self.current.is_none() {
                return Ok(None);
            }
        }
    }

    fn open_next(&mut self) -> Result<(), FormatError> {
        self.current = self.frames.next().copied();
        match self.current {
            Some(frame) => self.load(frame).map_err(|error| self.give_up(error)),
            None => Ok(()),
        }
    }

    fn load(&mut self, frame: Frame) -> Result<(), FormatError> {
        let Frame { offset, head } = frame;
        let listed = format!("events of thread {}, as listed", self.thread.0);
        let found =
            match self.trace.source.frame(offset, &mut self.payload, self.reader.content())? {
                Some(header) if (header.kind, header.thread) == (Kind::Events, self.thread.0) => {
                    let found = self.reader.begin().map_err(|defect| defect.in_frame(offset))?;
                    if found == head {
                        return Ok(());
                    }
                    format!("{found:?}")
                }
                Some(header) => format!("{:?} frame of thread {}", header.kind, header.thread),
                None => "the end of the file".to_owned(),
            };
        Err(FormatError::damaged(offset, listed, found))
    }

    fn give_up(&mut self, error: FormatError) -> FormatError {
        (self.current, self.frames) = (None, [].iter());
        error
    }
}
