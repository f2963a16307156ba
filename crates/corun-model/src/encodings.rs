//! All encodings of 64-bit instructions, for tools that need one sample of each instruction form.
//!
//! Each opcode map is tried with each prefix, operand size and vector length, with register and with memory operands.
//! Which samples a tool keeps is its own decision.

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

/// The bytes after the operands of an encoding, which the immediate and padding are taken from.
pub const TAIL: usize = 10;
/// The values of ModRM.reg, in the order in which they are tried.
const REGISTERS: [u8; 8] = [1, 3, 0, 4, 5, 6, 7, 2];

/// The operands that are tried for each opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// One register operand for each value of ModRM.reg, and no broadcast memory operands.
    Samples,
    /// All pairs of register operands, and broadcast memory operands.
    Exhaustive,
}

/// Calls `visit` with each encoding: opcode bytes and operand bytes, without an immediate.
pub fn each_encoding(effort: Effort, mut visit: impl FnMut(&[u8])) {
    let mut with_operands = |opcode: &[u8]| operands(effort, opcode, &mut visit);
    legacy(&mut with_operands);
    addresses(&mut visit);
    let mut with_operands = |opcode: &[u8]| operands(effort, opcode, &mut visit);
    vex(&mut with_operands);
    evex(effort, &mut with_operands);
}

/// Decodes an encoding that is followed by these bytes. None if it is not a valid instruction, if it names a register
/// twice (so that it may be a zero idiom), or the high byte of one.
pub fn decode_sample(encoding: &[u8], tail: &[u8; TAIL]) -> Option<(Instruction, Vec<u8>)> {
    let mut bytes = [encoding, tail].concat();
    bytes.truncate(15);
    let instruction = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE).decode();
    bytes.truncate(instruction.len());
    (!instruction.is_invalid() && has_distinct_registers(&instruction))
        .then_some((instruction, bytes))
}

fn has_distinct_registers(instruction: &Instruction) -> bool {
    let registers: Vec<Register> = (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
        .collect();
    let is_high = |register: &Register| {
        matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
    };
    let is_repeated = |(place, register): (usize, &Register)| {
        registers[..place].iter().any(|other| other.full_register() == register.full_register())
    };
    !registers.iter().any(is_high) && !registers.iter().enumerate().any(is_repeated)
}

/// An opcode with operands of each kind.
fn operands(effort: Effort, opcode: &[u8], visit: &mut impl FnMut(&[u8])) {
    let mut with = |operands: &[u8]| visit(&[opcode, operands].concat());
    for reg in REGISTERS {
        with(&[0xc2 | reg << 3]);
    }
    // Memory at RSI.
    for reg in REGISTERS {
        with(&[reg << 3 | 6]);
    }
    match effort {
        Effort::Exhaustive => {
            for reg in 0..8 {
                for rm in [2u8, 0, 1, 3, 4, 5, 6, 7] {
                    with(&[0xc0 | reg << 3 | rm]);
                }
            }
        }
        // The opcode of an x87 instruction is in its ModRM byte.
        Effort::Samples if matches!(opcode.last(), Some(0xd8..=0xdf)) => {
            for modrm in 0xc0..=0xff {
                with(&[modrm]);
            }
        }
        Effort::Samples => {}
    }
    // Memory at RSI + index 3, which is XMM3 for gathers.
    for reg in REGISTERS {
        with(&[reg << 3 | 4, 0x1e]);
    }
}

fn legacy(with_operands: &mut impl FnMut(&[u8])) {
    let prefixes: [&[u8]; 7] =
        [&[], &[0x66], &[0xf3], &[0xf2], &[0xf0], &[0x66, 0xf0], &[0x66, 0xf2]];
    let maps: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
    for prefix in prefixes {
        for wide in [&[][..], &[0x48]] {
            for map in maps {
                for code in 0..=0xffu8 {
                    if map.is_empty() && is_prefix(code) || map == [0x0f] && code == 0x0f {
                        continue;
                    }
                    with_operands(&[prefix, wide, map, &[code]].concat());
                }
            }
        }
    }
}

/// True if a byte is a prefix or the first byte of another opcode map.
fn is_prefix(code: u8) -> bool {
    matches!(
        code,
        0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x62 | 0x64..=0x67 | 0xc4 | 0xc5 | 0xf0 | 0xf2 | 0xf3
    )
}

/// LEA with each addressing mode.
fn addresses(visit: &mut impl FnMut(&[u8])) {
    let operands: [&[u8]; 9] = [
        &[0x0e],                   // base
        &[0x4e, 5],                // base, displacement
        &[0x0c, 0x1e],             // base, index
        &[0x0c, 0x9e],             // base, scaled index
        &[0x4c, 0x1e, 5],          // base, index, displacement
        &[0x4c, 0x9e, 5],          // base, scaled index, displacement
        &[0x0c, 0x9d, 5, 5, 5, 0], // scaled index, displacement
        &[0x0c, 0x25, 5, 5, 5, 0], // displacement
        &[0x0d, 5, 5, 5, 0],       // instruction pointer
    ];
    for prefix in [&[0x66u8][..], &[], &[0x48]] {
        for operands in operands {
            visit(&[prefix, &[0x8d], operands].concat());
        }
    }
}

fn vex(with_operands: &mut impl FnMut(&[u8])) {
    for map in 1..=3u8 {
        for last in 0..=0xffu8 {
            // Bits: W, source register 5 or none (inverted), length, prefix.
            if !matches!(last >> 3 & 15, 0b1010 | 0b1111) {
                continue;
            }
            for code in 0..=0xffu8 {
                with_operands(&[0xc4, 0xe0 | map, last, code]);
            }
        }
    }
}

fn evex(effort: Effort, with_operands: &mut impl FnMut(&[u8])) {
    // Three lengths, without and with a mask; then the same with broadcast.
    let last: &[u8] = match effort {
        Effort::Samples => &[0x08, 0x28, 0x48, 0x09, 0x29, 0x49],
        Effort::Exhaustive => &[0x08, 0x28, 0x48, 0x09, 0x29, 0x49, 0x18, 0x38, 0x58],
    };
    for map in [1u8, 2, 3, 5, 6] {
        for second in 0..=0xffu8 {
            // Bits: W, source register 5 or none (inverted), one, prefix.
            if !matches!(second >> 3 & 15, 0b1010 | 0b1111) || second & 4 == 0 {
                continue;
            }
            for third in last {
                for code in 0..=0xffu8 {
                    with_operands(&[0x62, 0xf0 | map, second, *third, code]);
                }
            }
        }
    }
}
