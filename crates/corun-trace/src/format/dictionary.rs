//! The dictionary of blocks: what each one is, defined once, and what the columns need to know of it.

use super::error::{Defect, FoundValue};
use super::varint::{Cursor, fold, put, unfold};
use super::{MAX_INSTRUCTIONS, MAX_OPERANDS};
use crate::{Block, ChampSimInstruction, Code, Direction, Form, Instruction, MemoryOperand};

/// Instead of a number of instructions: a block without bytes; the number follows.
const EXPLICIT: u64 = 0;

/// Shape of a block, as the columns need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// The memory of its first operand's values.
    pub first_slot: u32,
    pub instructions: u32,
    /// True if every operand has exactly one value; each has one slot then, otherwise two.
    pub is_plain: bool,
    first_form: usize,
    operands: usize,
    first_count: usize,
}

impl Shape {
    /// The first of the two slots of an operand, where the shape is not plain.
    pub(super) fn slot(&self, operand: usize) -> u32 {
        self.first_slot.wrapping_add(2 * operand as u32)
    }
}

/// The shapes of all blocks, by identity.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    forms: Vec<Form>,
    /// Operands of each instruction.
    counts: Vec<u8>,
    slots: u32,
}

impl Shapes {
    pub(super) fn len(&self) -> u32 {
        self.shapes.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, block: u32) -> Option<&Shape> {
        self.shapes.get(block as usize)
    }

    /// The forms of all operands.
    #[inline]
    pub(super) fn forms(&self, shape: &Shape) -> &[Form] {
        &self.forms[shape.first_form..][..shape.operands]
    }

    /// The forms of the operands of the first `executed` instructions.
    pub(super) fn forms_of(&self, shape: &Shape, executed: u32) -> &[Form] {
        let counts = &self.counts[shape.first_count..][..executed as usize];
        &self.forms(shape)[..counts.iter().map(|&count| usize::from(count)).sum()]
    }

    pub(super) fn push(&mut self, block: &Block) {
        let is_plain = block.operands.iter().all(|operand| operand.form == Form::Single);
        self.shapes.push(Shape {
            first_slot: self.slots,
            instructions: block.instructions.len() as u32,
            is_plain,
            first_form: self.forms.len(),
            operands: block.operands.len(),
            first_count: self.counts.len(),
        });
        let slots = block.operands.len() as u32 * if is_plain { 1 } else { 2 };
        self.slots = self.slots.wrapping_add(slots);
        self.forms.extend(block.operands.iter().map(|operand| operand.form));
        self.counts.extend(block.instructions.iter().map(|instruction| instruction.operands));
    }
}

/// True if a block is one that the format can hold: its parts agree, and it is of sensible size.
pub(super) fn is_sound(block: &Block) -> bool {
    let bytes: usize = block.instructions.iter().map(|one| usize::from(one.length)).sum();
    let operands: usize = block.instructions.iter().map(|one| usize::from(one.operands)).sum();
    let is_described = match &block.code {
        Code::Bytes(code) => code.len() == bytes,
        Code::ChampSim(champsim) => {
            champsim.len() == block.instructions.len()
                && champsim
                    .iter()
                    .zip(&block.instructions)
                    .all(|(champsim, one)| champsim.is_of(one))
        }
    };
    let last = block.instructions.len().saturating_sub(1);
    let shortest = |index| if block.bytes().is_none() && index == last { 0 } else { 1 };
    is_described
        && operands == block.operands.len()
        && (block.instructions.iter().enumerate())
            .all(|(index, one)| (shortest(index)..=15).contains(&one.length))
        && (1..=MAX_INSTRUCTIONS as usize).contains(&block.instructions.len())
        && operands <= MAX_OPERANDS as usize
}

/// Collects the content of a frame of blocks.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    entries: Vec<u8>,
    first: u32,
    count: u32,
    next_address: u64,
}

impl BlockWriter {
    pub(super) fn push(&mut self, block: &Block) {
        let out = &mut self.entries;
        put(out, fold(block.address.wrapping_sub(self.next_address)));
        if block.bytes().is_none() {
            put(out, EXPLICIT);
        }
        put(out, block.instructions.len() as u64);
        for instruction in &block.instructions {
            put(out, u64::from(instruction.length) | u64::from(instruction.operands) << 4);
        }
        for operand in &block.operands {
            let kind = direction_code(operand.direction) | form_code(operand.form) << 2;
            put(out, kind | u64::from(operand.size) << 4);
        }
        match &block.code {
            Code::Bytes(bytes) => out.extend_from_slice(bytes),
            Code::ChampSim(champsim) => {
                out.extend(champsim.iter().flat_map(|champsim| champsim.to_bytes()));
            }
        }
        self.next_address = block.end();
        self.count += 1;
    }

    /// Bytes up to now.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The content of a frame, if there are new blocks; a new one is begun.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.count == 0 {
            return None;
        }
        let next = Self { first: self.first + self.count, ..Self::default() };
        let full = std::mem::replace(self, next);
        let mut content = Vec::with_capacity(full.entries.len() + 10);
        put(&mut content, u64::from(full.first));
        put(&mut content, u64::from(full.count));
        content.extend(full.entries);
        Some(content)
    }
}

/// Reads the content of a frame of blocks, of which the first has the identity `first`.
pub(super) fn read_blocks(content: &[u8], first: u32) -> Result<Vec<Block>, Defect> {
    let mut cursor = Cursor::over(content);
    let at = cursor.at;
    let found = cursor.number(content, "the identity of the frame's first block")?;
    if found != u64::from(first) {
        return Err(Defect {
            at,
            expected: "blocks that go on where the last such frame ended",
            found: FoundValue::Number(found),
        });
    }
    let most = u64::from(u32::MAX - first);
    let count = cursor.number_up_to(content, most, "a number of blocks")?;
    let (mut blocks, mut address) = (Vec::new(), 0);
    for _ in 0..count {
        let block = read_block(content, &mut cursor, address)?;
        address = block.end();
        blocks.push(block);
    }
    cursor.finish("the end of the blocks")?;
    Ok(blocks)
}

fn read_block(content: &[u8], cursor: &mut Cursor, base: u64) -> Result<Block, Defect> {
    let address = base.wrapping_add(unfold(cursor.number(content, "a block's address")?));
    let mut at = cursor.at;
    let mut count = cursor.number_up_to(content, MAX_INSTRUCTIONS, "a number of instructions")?;
    let is_explicit = count == EXPLICIT;
    if is_explicit {
        at = cursor.at;
        count = cursor.number_up_to(content, MAX_INSTRUCTIONS, "a number of instructions")?;
    }
    let refuse = |expected, found| Err(Defect { at, expected, found: FoundValue::Number(found) });
    if count == 0 {
        return refuse("a block of at least one instruction", 0);
    }
    let (mut instructions, mut bytes, mut total) = (Vec::new(), 0, 0);
    for index in 1..=count {
        let code = cursor.number_up_to(content, 0xfff, "an instruction's length and operands")?;
        let (length, operands) = (code & 15, code >> 4);
        if length == 0 && !(is_explicit && index == count) {
            return refuse("an instruction of 1 to 15 bytes", 0);
        }
        bytes += length;
        total += operands;
        instructions.push(Instruction { length: length as u8, operands: operands as u8 });
    }
    if total > MAX_OPERANDS {
        return refuse("a block of fewer operands", total);
    }
    let operands = (0..total).map(|_| read_operand(content, cursor)).collect::<Result<_, _>>()?;
    let code = if is_explicit {
        Code::ChampSim(read_champsim(content, cursor, &instructions)?)
    } else {
        let code = cursor.split(bytes, "the bytes of a block")?;
        Code::Bytes(content[code.at..code.end].to_owned())
    };
    Ok(Block { address, code, instructions, operands })
}

fn read_champsim(
    content: &[u8],
    cursor: &mut Cursor,
    instructions: &[Instruction],
) -> Result<Vec<ChampSimInstruction>, Defect> {
    let size = (instructions.len() * ChampSimInstruction::SIZE) as u64;
    let part = cursor.split(size, "the description of a block's instructions")?;
    let (chunks, _) = content[part.at..part.end].as_chunks();
    let champsim =
        chunks.iter().zip(instructions).zip((part.at..).step_by(ChampSimInstruction::SIZE));
    champsim
        .map(|((bytes, instruction), at)| {
            let champsim = ChampSimInstruction::from_bytes(*bytes)
                .filter(|champsim| champsim.is_of(instruction));
            champsim.ok_or(Defect {
                at,
                expected: "registers, a branch and a place for each operand",
                found: FoundValue::Number(u64::from_le_bytes(*bytes)),
            })
        })
        .collect()
}

fn read_operand(content: &[u8], cursor: &mut Cursor) -> Result<MemoryOperand, Defect> {
    let at = cursor.at;
    let code = cursor.number_up_to(content, 0xf_ffff, "a memory operand")?;
    let direction = match code & 3 {
        0 => Direction::Read,
        1 => Direction::Write,
        2 => Direction::ReadWrite,
        _ => Direction::Prefetch,
    };
    let form = match code >> 2 & 3 {
        0 => Form::Single,
        1 => Form::Lanes,
        2 => Form::Repeated,
        _ => {
            let expected = "a form of operand (0 to 2)";
            return Err(Defect { at, expected, found: FoundValue::Number(3) });
        }
    };
    Ok(MemoryOperand { direction, size: (code >> 4) as u16, form })
}

fn direction_code(direction: Direction) -> u64 {
    match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::ReadWrite => 2,
        Direction::Prefetch => 3,
    }
}

fn form_code(form: Form) -> u64 {
    match form {
        Form::Single => 0,
        Form::Lanes => 1,
        Form::Repeated => 2,
    }
}
