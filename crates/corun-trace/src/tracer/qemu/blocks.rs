//! The blocks that QEMU has translated, as the client describes them.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

use crate::operands::{decode_first, may_access_nothing};
use crate::tracer::entries::{EntryError, read_bytes, read_u32, read_u64};
use crate::{Block, BlockId, Code, Direction, Form, MemoryOperand, Sink};

const PAGE: u64 = 4096;

/// By number, from 1; QEMU may translate the same code again.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    known: Vec<BlockOperands>,
    by_code: HashMap<(u64, Code), BlockId>,
}

/// Operands of a block, to check its accesses while it is executed.
#[derive(Debug)]
pub(super) struct BlockOperands {
    pub(super) id: BlockId,
    /// For each instruction, its operands' place among those of the block.
    pub(super) instructions: Vec<Range<usize>>,
    pub(super) operands: Vec<MemoryOperand>,
    /// The pieces that are expected, if each operand has one or, read and written, two.
    pub(super) expected: Vec<ExpectedAccess>,
    /// Instructions that have operands and yet may access nothing.
    pub(super) may_be_silent: Vec<bool>,
    pub(super) ends_in_repeat: bool,
}

/// A piece that a block accesses each time, in its order.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedAccess {
    pub(super) instruction: u32,
    pub(super) is_store: bool,
    /// True if its address is an operand's value; else it is the same as the one before.
    pub(super) is_value: bool,
}

impl Blocks {
    /// Reads the descriptions up to a block and passes new code to the sink.
    pub(super) fn learn(
        &mut self,
        number: u64,
        code: &mut impl Read,
        sink: &mut dyn Sink,
    ) -> Result<(), EntryError> {
        if number == 0 {
            return Err(EntryError::Unexpected { expected: "the number of a block", found: 0 });
        }
        while (self.known.len() as u64) < number {
            let block = describe(code)?;
            let key = (block.address, block.code.clone());
            let known = BlockOperands::new(BlockId(0), &block);
            let id = match self.by_code.get(&key) {
                Some(&id) => id,
                None => *self.by_code.entry(key).or_insert(sink.define(block)?),
            };
            self.known.push(BlockOperands { id, ..known });
        }
        Ok(())
    }

    /// A block that was learnt.
    pub(super) fn get(&self, number: u64) -> &BlockOperands {
        &self.known[number as usize - 1]
    }
}

impl BlockOperands {
    fn new(id: BlockId, block: &Block) -> Self {
        let mut at = 0;
        let own = block.instructions.iter().map(|instruction| {
            let own = at..at + usize::from(instruction.operands);
            at = own.end;
            own
        });
        let instructions: Vec<_> = own.collect();
        let last = instructions.last().cloned().unwrap_or_default();
        Self {
            id,
            expected: expected(&instructions, &block.operands),
            may_be_silent: may_access_nothing(block),
            ends_in_repeat: block.operands[last]
                .iter()
                .any(|operand| operand.form == Form::Repeated),
            instructions,
            operands: block.operands.clone(),
        }
    }
}

fn expected(instructions: &[Range<usize>], operands: &[MemoryOperand]) -> Vec<ExpectedAccess> {
    let mut expected = Vec::new();
    for (own, instruction) in instructions.iter().zip(0..) {
        for operand in &operands[own.clone()] {
            let piece = |is_store, is_value| ExpectedAccess { instruction, is_store, is_value };
            match operand.direction {
                Direction::Read => expected.push(piece(false, true)),
                Direction::Write => expected.push(piece(true, true)),
                Direction::ReadWrite => expected.extend([piece(false, true), piece(true, false)]),
                Direction::Prefetch => {}
            }
        }
    }
    let is_usual = |operand: &MemoryOperand| {
        operand.form == Form::Single
            && (1..=8).contains(&operand.size)
            && operand.direction != Direction::Prefetch
    };
    if operands.iter().all(is_usual) { expected } else { Vec::new() }
}

/// Reads the next description: a `struct channel_block` and the code, which may go on a little further.
fn describe(code: &mut impl Read) -> Result<Block, EntryError> {
    let address = read_u64(code)?;
    let (length, _words) = (read_u32(code)?, read_u32(code)?);
    let (instructions, _operands) = (read_u32(code)?, read_u32(code)?);
    let bytes = read_bytes(code, length as usize)?;
    executed(address, &bytes, instructions as usize)
}

/// Block that QEMU executes as the one that it says has so many instructions: one that begins on the
/// first page and ends on the next is taken back and gets a block of its own, unless it is the first.
fn executed(address: u64, bytes: &[u8], instructions: usize) -> Result<Block, EntryError> {
    let block = decode_first(address, bytes, instructions)?;
    let end = block.end();
    if instructions > 1 && address / PAGE != (end - 1) / PAGE {
        return Ok(decode_first(address, bytes, instructions - 1)?);
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_that_crosses_a_page_is_no_part_of_the_block_before_it() {
        // nop; add rax, 1
        let code = [0x90, 0x48, 0x83, 0xc0, 0x01];
        let lengths = |address, instructions| {
            let block = executed(address, &code, instructions).unwrap();
            block.instructions.iter().map(|it| it.length).collect::<Vec<_>>()
        };
        assert_eq!(lengths(0x1ff0, 2), [1, 4]);
        assert_eq!(lengths(0x1ffd, 2), [1]);
        let alone = executed(0x1ffe, &code[1..], 1).unwrap();
        assert_eq!(alone.instructions[0].length, 4, "the first may cross");
    }
}
