//! Prints one sample of each form of instruction that 64-bit code can have.
//!
//!     cargo run -p corun-model --example forms >samples.csv
//!
//! Columns: form, its machine code in hex, loads, stores, and the CPUID features it needs. All encodings
//! are tried: each map of operation codes with each prefix, operand size and vector length, with registers
//! and with memory. The sources of a sample are distinct registers, so that it is no zero idiom.

use std::collections::BTreeMap;
use std::io::{self, Write};

use corun_model::timing::form;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register,
};

/// Bytes after the operation code: a ModRM byte, then zeros but for the last of an immediate.
const TAIL: usize = 10;

fn main() -> io::Result<()> {
    let mut samples = BTreeMap::new();
    legacy(&mut samples);
    addresses(&mut samples);
    vex(&mut samples);
    evex(&mut samples);
    let mut out = io::stdout().lock();
    let mut factory = InstructionInfoFactory::new();
    for (form, (code, instruction)) in &samples {
        let (mut loads, mut stores) = (0, 0);
        for memory in factory.info(instruction).used_memory() {
            use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
            let access = memory.access();
            loads += u32::from(matches!(access, Read | CondRead | ReadWrite | ReadCondWrite));
            stores += u32::from(matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite));
        }
        let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
        let features: Vec<String> =
            instruction.cpuid_features().iter().map(|feature| format!("{feature:?}")).collect();
        writeln!(out, "{form},{hex},{loads},{stores},{}", features.join(" "))?;
    }
    Ok(())
}

type Samples = BTreeMap<String, (Vec<u8>, Instruction)>;

/// Tries an operation code with operands of each kind.
fn with_operands(samples: &mut Samples, code: &[u8]) {
    // With registers: the numbers of the two; then memory, at RSI and at RSI + XMM3 (for gathers).
    let registers =
        (0..8).flat_map(|reg| [2u8, 0, 1, 3, 4, 5, 6, 7].map(|rm| 0xc0 | reg << 3 | rm));
    let first = [1u8, 3, 0, 4, 5, 6, 7, 2];
    let usual = first.map(|reg| 0xc2 | reg << 3);
    let memory = first.map(|reg| reg << 3 | 6);
    for modrm in usual.into_iter().chain(memory).chain(registers) {
        add(samples, code, &[modrm]);
    }
    for reg in first {
        // Base RSI, index 3, in bytes.
        add(samples, code, &[reg << 3 | 4, 0x1e]);
    }
}

fn add(samples: &mut Samples, code: &[u8], operands: &[u8]) {
    let mut bytes = [code, operands, &[5; TAIL]].concat();
    bytes.truncate(15);
    let mut decoder = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() || !is_plain(&instruction) {
        return;
    }
    bytes.truncate(instruction.len());
    samples.entry(form(&instruction)).or_insert((bytes, instruction));
}

/// Whether all registers are distinct and none is the high byte of another.
fn is_plain(instruction: &Instruction) -> bool {
    let registers: Vec<Register> = (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
        .collect();
    let high = |register: &Register| {
        matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
    };
    let twice = |(place, register): (usize, &Register)| {
        registers[..place].iter().any(|other| other.full_register() == register.full_register())
    };
    // In 64-bit code, the address size is what the operands have.
    !registers.iter().any(high) && !registers.iter().enumerate().any(twice)
}

fn legacy(samples: &mut Samples) {
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
                    with_operands(samples, &[prefix, wide, map, &[code]].concat());
                }
            }
        }
    }
}

/// Prefixes, and the first bytes of other maps.
fn is_prefix(code: u8) -> bool {
    matches!(
        code,
        0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x62 | 0x64..=0x67 | 0xc4 | 0xc5 | 0xf0 | 0xf2 | 0xf3
    )
}

/// Each way to compute an address.
fn addresses(samples: &mut Samples) {
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
            add(samples, &[prefix, &[0x8d]].concat(), operands);
        }
    }
}

fn vex(samples: &mut Samples) {
    for map in 1..=3u8 {
        for last in 0..=0xffu8 {
            // Bits: W, source register 5 or none (inverted), length, prefix.
            if !matches!(last >> 3 & 15, 0b1010 | 0b1111) {
                continue;
            }
            for code in 0..=0xffu8 {
                with_operands(samples, &[0xc4, 0xe0 | map, last, code]);
            }
        }
    }
}

fn evex(samples: &mut Samples) {
    for map in [1u8, 2, 3, 5, 6] {
        for second in 0..=0xffu8 {
            // Bits: W, source register 5 or none (inverted), one, prefix.
            if !matches!(second >> 3 & 15, 0b1010 | 0b1111) || second & 4 == 0 {
                continue;
            }
            // Without and with a mask, without and with broadcast, three lengths.
            for third in [0x08u8, 0x28, 0x48, 0x09, 0x29, 0x49, 0x18, 0x38, 0x58] {
                for code in 0..=0xffu8 {
                    with_operands(samples, &[0x62, 0xf0 | map, second, third, code]);
                }
            }
        }
    }
}
