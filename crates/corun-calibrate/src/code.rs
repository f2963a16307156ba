//! Single instructions that the measurements are made of.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

/// # Panics
/// If the operands do not fit the code, which each function here sees to.
fn made(instruction: Result<Instruction, iced_x86::IcedError>) -> Instruction {
    instruction.expect("operands that fit")
}

fn at(base: Register, displacement: i64) -> MemoryOperand {
    let size = if displacement == 0 { 0 } else { 8 };
    MemoryOperand::with_base_displ_size(base, displacement, size)
}

/// `target = source`, or the operation of two registers that the code is of.
pub(crate) fn two(code: Code, target: Register, source: Register) -> Instruction {
    made(Instruction::with2(code, target, source))
}

/// A copy of a general-purpose register.
pub(crate) fn copy(target: Register, source: Register) -> Instruction {
    two(Code::Mov_r64_rm64, target, source)
}

/// A load of 8 bytes.
pub(crate) fn load(target: Register, base: Register, displacement: i64) -> Instruction {
    load_as(Code::Mov_r64_rm64, target, base, displacement)
}

/// A load of the kind of this code.
pub(crate) fn load_as(code: Code, to: Register, base: Register, displacement: i64) -> Instruction {
    made(Instruction::with2(code, to, at(base, displacement)))
}

/// A load from the sum of a register and some times another.
pub(crate) fn load_indexed(
    target: Register,
    base: Register,
    index: Register,
    scale: u32,
) -> Instruction {
    let address = MemoryOperand::with_base_index_scale(base, index, scale);
    made(Instruction::with2(Code::Mov_r64_rm64, target, address))
}

/// A store of 8 bytes.
pub(crate) fn store(base: Register, displacement: i64, source: Register) -> Instruction {
    store_as(Code::Mov_rm64_r64, base, displacement, source)
}

/// A store of the kind of this code.
pub(crate) fn store_as(
    code: Code,
    base: Register,
    displacement: i64,
    source: Register,
) -> Instruction {
    made(Instruction::with2(code, at(base, displacement), source))
}

/// An operation with a constant.
pub(crate) fn constant(code: Code, target: Register, value: i32) -> Instruction {
    made(Instruction::with2(code, target, value))
}

/// An operation of one register.
pub(crate) fn one(code: Code, register: Register) -> Instruction {
    made(Instruction::with1(code, register))
}

/// Does nothing, in so many bytes (Intel, Software Developer's Manual, NOP; longer ones take prefixes).
pub(crate) fn nop(bytes: usize) -> Vec<u8> {
    const LONG: [u8; 8] = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    match bytes {
        0..=1 => vec![0x90],
        2 => vec![0x66, 0x90],
        3 => vec![0x0f, 0x1f, 0x00],
        4 => vec![0x0f, 0x1f, 0x40, 0],
        5 => vec![0x0f, 0x1f, 0x44, 0, 0],
        6 => vec![0x66, 0x0f, 0x1f, 0x44, 0, 0],
        7 => vec![0x0f, 0x1f, 0x80, 0, 0, 0, 0],
        8.. => LONG.to_vec(),
    }
}
