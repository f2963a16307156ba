//! The content of a frame of events: a head, then the columns of blocks, of values and of markers.
//!
//! A frame is decoded by itself, given the dictionary: every prediction starts again in it, and its head
//! says where in its thread it lies.

use super::control::{ControlReader, ControlWriter};
use super::dictionary::Shapes;
use super::error::{Defect, FoundValue};
use super::markers::{Entry, MarkerReader, MarkerWriter};
use super::values::{ValueReader, ValueWriter};
use super::varint::{Cursor, put};
use super::{LARGEST_FRAME, MAX_FRAME_INSTRUCTIONS};
use crate::{BlockId, Event, Form, Marker, OrderedMarker, Phase};

/// The largest number of an instruction: adding a frame to it cannot overflow.
pub(super) const LAST_INSTRUCTION: u64 = u64::MAX >> 1;

/// Head of a frame: its place in its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The thread's number in the kernel.
    pub tid: u32,
    /// Number of instructions the thread had executed before the frame's first, recorded or not.
    pub first_instruction: u64,
    pub phase: Phase,
    /// Instructions of the frame.
    pub instructions: u64,
    /// Executed blocks of the frame.
    pub blocks: u64,
}

impl Head {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put(out, u64::from(self.tid));
        put(out, self.first_instruction);
        put(out, u64::from(self.phase == Phase::Counted));
        put(out, self.instructions);
        put(out, self.blocks);
    }

    pub(super) fn read(cursor: &mut Cursor, content: &[u8]) -> Result<Self, Defect> {
        let tid = cursor.number_up_to(content, u64::from(u32::MAX), "a thread's number")?;
        let first_instruction =
            cursor.number_up_to(content, LAST_INSTRUCTION, "the frame's first instruction")?;
        let phase = match cursor.number_up_to(content, 1, "a phase (0 or 1)")? {
            0 => Phase::WarmUp,
            _ => Phase::Counted,
        };
        let most = MAX_FRAME_INSTRUCTIONS;
        let instructions = cursor.number_up_to(content, most, "a number of instructions")?;
        let blocks = cursor.number_up_to(content, most, "a number of executed blocks")?;
        Ok(Self { tid: tid as u32, first_instruction, phase, instructions, blocks })
    }
}

/// Encodes the events of one thread.
#[derive(Debug)]
pub(super) struct EventWriter {
    head: Head,
    control: ControlWriter,
    values: ValueWriter,
    markers: MarkerWriter,
}

impl EventWriter {
    pub(super) fn new(tid: u32) -> Self {
        let phase = Phase::Counted;
        Self {
            head: Head { tid, first_instruction: 0, phase, instructions: 0, blocks: 0 },
            control: ControlWriter::default(),
            values: ValueWriter::default(),
            markers: MarkerWriter::default(),
        }
    }

    /// Adds an execution, if it is one of a known block with the values that belong to it.
    #[inline]
    pub(super) fn execute(
        &mut self,
        shapes: &Shapes,
        block: u32,
        executed: u32,
        values: &[u64],
    ) -> Option<()> {
        let shape = shapes.get(block)?;
        if executed == shape.instructions {
            self.values.push(shape, shapes.forms(shape), values)?;
        } else if executed < shape.instructions {
            self.values.push(shape, shapes.forms_of(shape, executed), values)?;
            self.markers.push(self.head.blocks, Entry::Partial(executed));
        } else {
            return None;
        }
        self.control.push(block);
        self.head.blocks += 1;
        self.head.instructions += u64::from(executed);
        Some(())
    }

    /// Adds a marker. One that begins an interval must be the first of a frame.
    pub(super) fn mark(&mut self, marker: OrderedMarker) {
        if let Marker::Begin { phase, skipped } = marker.marker {
            self.head.phase = phase;
            let first = self.head.first_instruction.saturating_add(skipped);
            self.head.first_instruction = first.min(LAST_INSTRUCTION);
        }
        self.markers.push(self.head.blocks, Entry::Marker(marker));
    }

    /// True if a frame of so many instructions is full.
    #[inline]
    pub(super) fn is_full(&self, instructions: u64) -> bool {
        let bytes = self.control.len() + self.values.len() + self.markers.len();
        self.head.instructions >= instructions
            || self.head.blocks >= instructions
            || bytes >= LARGEST_FRAME / 2
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.blocks == 0 && self.markers.len() == 0
    }

    /// The content of the frame; a new one is begun.
    pub(super) fn take(&mut self) -> (Head, Vec<u8>) {
        let columns = [self.control.take(), self.values.take(), self.markers.take()];
        let [control, values, markers] = &columns;
        let mut content = Vec::with_capacity(64 + control.len() + values.len() + markers.len());
        let head = self.head;
        head.put(&mut content);
        put(&mut content, control.len() as u64);
        put(&mut content, values.len() as u64);
        columns.iter().for_each(|column| content.extend_from_slice(column));
        let first_instruction = head.first_instruction + head.instructions;
        self.head = Head { first_instruction, instructions: 0, blocks: 0, ..head };
        (head, content)
    }
}

/// Decodes the events of one frame after another.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    content: Vec<u8>,
    control: ControlReader,
    values: ValueReader,
    markers: MarkerReader,
    /// Executed blocks and instructions that are still to come.
    blocks_left: u64,
    instructions_left: u64,
    position: u64,
    entries: u64,
    next_instruction: u64,
    buffer: Vec<u64>,
}

/// Decoded step; the values of an execution are in the reader.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Block { block: u32, executed: u32 },
    Marker(OrderedMarker),
}

impl EventReader {
    /// Buffer for the content of the next frame before [`Self::begin`].
    pub(super) fn content(&mut self) -> &mut Vec<u8> {
        &mut self.content
    }

    /// Starts on the content.
    pub(super) fn begin(&mut self) -> Result<Head, Defect> {
        let content = &self.content[..];
        let mut cursor = Cursor::over(content);
        let head = Head::read(&mut cursor, content)?;
        let control = cursor.number(content, "the length of the column of blocks")?;
        let values = cursor.number(content, "the length of the column of values")?;
        self.control.begin(cursor.split(control, "the column of blocks")?, content)?;
        self.values.begin(cursor.split(values, "the column of values")?, content)?;
        self.markers = MarkerReader::over(cursor, content)?;
        self.blocks_left = head.blocks;
        self.instructions_left = head.instructions;
        self.next_instruction = head.first_instruction;
        (self.position, self.entries) = (0, 0);
        Ok(head)
    }

    /// The next event, or `None` at the frame's end.
    #[inline]
    pub(super) fn step(&mut self, shapes: &Shapes) -> Result<Option<Step>, Defect> {
        let mut partial = None;
        if self.markers.is_due(self.position) {
            match self.markers.next(&self.content)? {
                Entry::Marker(marker) => return self.marker(marker).map(Some),
                Entry::Partial(executed) => partial = Some(executed),
            }
        }
        if self.blocks_left == 0 {
            return self.finish(partial).map(|()| None);
        }
        let block = self.control.next(&self.content, shapes.len())?;
        let shape = shapes.get(block).expect("it was checked against their number");
        let (executed, forms): (u32, &[Form]) = match partial {
            None => (shape.instructions, shapes.forms(shape)),
            Some(executed) if executed < shape.instructions => {
                (executed, shapes.forms_of(shape, executed))
            }
            Some(executed) => {
                return self.refuse("fewer instructions than the block has", executed.into());
            }
        };
        self.values.next(&self.content, shape, forms, &mut self.buffer)?;
        let Some(left) = self.instructions_left.checked_sub(u64::from(executed)) else {
            return self.refuse("as many instructions as the frame says", u64::from(executed));
        };
        self.instructions_left = left;
        self.blocks_left -= 1;
        self.position += 1;
        self.next_instruction += u64::from(executed);
        Ok(Some(Step::Block { block, executed }))
    }

    /// The event of the step that was just made.
    #[inline]
    pub(super) fn event(&self, step: Step) -> Event<'_> {
        match step {
            Step::Block { block, executed } => {
                Event::Block { block: BlockId(block), executed, values: &self.buffer }
            }
            Step::Marker(marker) => Event::Marker(marker),
        }
    }

    /// Number of instructions the thread had executed before what comes next.
    pub(super) fn next_instruction(&self) -> u64 {
        self.next_instruction
    }

    fn marker(&mut self, marker: OrderedMarker) -> Result<Step, Defect> {
        let is_begin = matches!(marker.marker, Marker::Begin { .. });
        if is_begin && (self.position, self.entries) != (0, 0) {
            return self.refuse("an interval to begin with a frame", self.position);
        }
        self.entries += 1;
        Ok(Step::Marker(marker))
    }

    fn finish(&self, partial: Option<u32>) -> Result<(), Defect> {
        if let Some(executed) = partial {
            return self.refuse("a block after its number of instructions", executed.into());
        }
        if self.instructions_left > 0 {
            return self.refuse("as many instructions as the frame says", self.instructions_left);
        }
        self.control.finish()?;
        self.values.finish()?;
        self.markers.finish()
    }

    fn refuse<T>(&self, expected: &'static str, found: u64) -> Result<T, Defect> {
        Err(Defect { at: self.content.len(), expected, found: FoundValue::Number(found) })
    }
}
