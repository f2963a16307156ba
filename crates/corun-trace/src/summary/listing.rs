//! A block as text.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use crate::{Block, Code};

/// The instructions of a block in Intel's syntax, each with its address.
///
/// Bytes that are no instruction of x86-64 are listed as `(bad)`; where there are none, what is known
/// instead.
pub fn disassemble(block: &Block) -> Vec<(u64, String)> {
    let texts: Vec<String> = match &block.code {
        Code::Bytes(bytes) => code(block, bytes),
        Code::ChampSim(champsim) => champsim.iter().map(ToString::to_string).collect(),
    };
    block.addresses().zip(texts).collect()
}

fn code(block: &Block, bytes: &[u8]) -> Vec<String> {
    let mut formatter = IntelFormatter::new();
    let mut rest = bytes;
    let instructions = block.instructions.iter().zip(block.addresses());
    let text = |(instruction, address): (&crate::Instruction, u64)| {
        let (bytes, following) = rest.split_at(usize::from(instruction.length));
        rest = following;
        let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        let mut text = String::new();
        formatter.format(&decoded, &mut text);
        text
    };
    instructions.map(text).collect()
}
