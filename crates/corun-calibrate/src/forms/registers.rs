//! The choice of registers: which ones instructions of a stream write, read, or pass on to the next.

use iced_x86::{Instruction, Register};

use super::operands::{Bank, Operand, bank, is_form, set};
use super::{Form, MASK};

/// Numbers of registers: general-purpose ones count as encoded.
pub(super) const CHAINED: u32 = 2;
/// Registers that every instruction may read and none writes, by their order among the operands.
pub(super) const SOURCES: [u32; 3] = [1, 13, 12];
/// Registers that many instructions write in turn. 4 is the stack's, 14 the memory's, 15 the loop's.
pub(super) const TARGETS: [u32; 9] = [2, 3, 5, 6, 7, 8, 9, 10, 11];
/// Registers that every instruction may read, where there are eight.
pub(super) const SHORT_SOURCES: [u32; 3] = [1, 3, 2];
pub(super) const SHORT_TARGETS: [u32; 4] = [4, 5, 6, 7];
/// Places in memory that are used in turn, so far apart.
pub(super) const PLACES: i64 = 16;
pub(super) const APART: i64 = 128;

/// Choice of a register for an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// This number.
    Number(u32),
    /// A register that no instruction writes.
    Source,
}

impl Form {
    /// The instruction with these choices, operand by operand, and its memory at this place.
    pub(super) fn with(&self, choices: &[Choice], place: i64) -> Option<Instruction> {
        let mut made = self.sample;
        let mut sources = 0;
        for (index, operand) in self.operands.iter().enumerate() {
            if operand.bank.is_none() {
                continue;
            }
            let is_mask = self.gathers() && index == 2 && self.sample.op_mask() == Register::None;
            let number = match choices[index] {
                _ if is_mask => MASK,
                Choice::Number(number) => number,
                Choice::Source => {
                    sources += 1;
                    self.source(operand, sources - 1)
                }
            };
            set(&mut made, index, operand, number);
        }
        if self.has_memory() && self.sample.memory_base() != Register::None {
            made.set_memory_base(Register::R14);
            let is_gather = self.gathers();
            if is_gather {
                let (_, first) = bank(made.memory_index());
                made.set_memory_index(first + 13);
            } else {
                made.set_memory_index(Register::None);
                made.set_memory_index_scale(1);
            }
            made.set_memory_displacement64(place as u64);
            made.set_memory_displ_size(8);
        } else if self.is_address() {
            self.choose_address(&mut made, choices);
        }
        is_form(&made, self.name).then_some(made)
    }

    /// The base waits, or else the index does.
    fn choose_address(&self, made: &mut Instruction, choices: &[Choice]) {
        let waits = match choices.first() {
            Some(Choice::Number(number)) if *number == CHAINED => CHAINED,
            _ => SOURCES[0],
        };
        let wide = |number: u32| Register::RAX + number;
        let has_base = made.memory_base().is_gpr();
        if has_base {
            made.set_memory_base(wide(waits));
        }
        if made.memory_index().is_gpr() {
            made.set_memory_index(wide(if has_base { SOURCES[1] } else { waits }));
        }
    }

    fn is_short(bank: Option<Bank>) -> bool {
        matches!(bank, Some(Bank::Mask | Bank::Mmx | Bank::X87))
    }

    fn source(&self, operand: &Operand, order: usize) -> u32 {
        let all = if Self::is_short(operand.bank) { SHORT_SOURCES } else { SOURCES };
        all[order % all.len()]
    }

    /// The registers that many instructions write in turn.
    pub(super) fn targets(operand: &Operand) -> &'static [u32] {
        if Self::is_short(operand.bank) { &SHORT_TARGETS } else { &TARGETS }
    }
}
