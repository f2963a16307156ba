//! Instructions without bytes, as traces of other simulators have them.
//!
//! ChampSim's records name registers and addresses, and no code; the kind of a branch follows from the
//! registers alone.

use std::fmt;

use crate::{BranchKind, Instruction};

/// The fields of an instruction in a ChampSim trace. Registers are its numbers, 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ChampSimInstruction {
    /// Registers written.
    pub writes: [u8; 2],
    /// Registers read.
    pub reads: [u8; 4],
    /// True if it is marked as a branch.
    pub branch: bool,
    /// True if it is marked as taken: a branch that goes both ways is in two blocks.
    pub taken: bool,
    /// Which of the record's places for addresses its operands are: bits 0 to 3 are the loads, bits 4
    /// and 5 the stores.
    pub places: u8,
}

impl ChampSimInstruction {
    /// The stack pointer.
    pub const STACK_POINTER: u8 = 6;
    /// The flags.
    pub const FLAGS: u8 = 25;
    /// The instruction pointer: who writes it, branches.
    pub const INSTRUCTION_POINTER: u8 = 26;

    /// Bytes that hold it.
    pub(crate) const SIZE: usize = 8;

    /// Registers written, registers read, whether it is a branch (bit 0) and taken (bit 1), places.
    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let [first, second] = self.writes;
        let [a, b, c, d] = self.reads;
        let flags = u8::from(self.branch) | u8::from(self.taken) << 1;
        [first, second, a, b, c, d, flags, self.places]
    }

    /// Decodes the bytes; none if they are invalid.
    pub(crate) fn from_bytes(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let [first, second, a, b, c, d, flags, places] = bytes;
        let (branch, taken) = (flags & 1 == 1, flags & 2 == 2);
        let champsim = Self { writes: [first, second], reads: [a, b, c, d], branch, taken, places };
        (flags < 4).then_some(champsim)
    }

    /// True if it can belong to this instruction: there is a place for each operand.
    pub(crate) fn is_of(&self, instruction: &Instruction) -> bool {
        self.places < 1 << 6 && self.places.count_ones() == u32::from(instruction.operands)
    }

    /// Kind of branch, if it writes the instruction pointer, by ChampSim's own rules (`inc/instruction.h`).
    pub fn branch_kind(&self) -> Option<BranchKind> {
        let is_other = |register: &u8| {
            ![0, Self::STACK_POINTER, Self::FLAGS, Self::INSTRUCTION_POINTER].contains(register)
        };
        let reads = |register| self.reads.contains(&register);
        let (stack, flags) = (reads(Self::STACK_POINTER), reads(Self::FLAGS));
        let (pointer, other) = (reads(Self::INSTRUCTION_POINTER), self.reads.iter().any(is_other));
        let writes_stack = self.writes.contains(&Self::STACK_POINTER);
        let kind = match (stack, writes_stack) {
            (false, _) if !flags && !other => BranchKind::Jump,
            (false, _) if !flags && !pointer => BranchKind::IndirectJump,
            (false, false) if pointer => BranchKind::Conditional,
            (true, true) if !pointer => BranchKind::Return,
            (true, true) if !flags && !other => BranchKind::Call,
            (true, true) if !flags => BranchKind::IndirectCall,
            _ => BranchKind::Other,
        };
        self.writes.contains(&Self::INSTRUCTION_POINTER).then_some(kind)
    }
}

impl fmt::Display for ChampSimInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(no code)")?;
        for (what, registers) in [(" writes", &self.writes[..]), (" reads", &self.reads)] {
            let named = registers.iter().filter(|register| **register != 0);
            named.enumerate().try_for_each(|(index, register)| {
                write!(f, "{} {register}", if index == 0 { what } else { "" })
            })?;
        }
        Ok(())
    }
}
