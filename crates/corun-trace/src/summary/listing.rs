//! A block as text.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use crate::Block;

/// The instructions of a block in Intel's syntax, each with its address.
///
/// Bytes that are no instruction of x86-64 are listed as `(bad)`.
pub fn disassemble(block: &Block) -> Vec<(u64, String)> {
    let mut formatter = IntelFormatter::new();
    let (mut address, mut rest) = (block.address, &block.bytes[..]);
    let mut lines = Vec::new();
    for instruction in &block.instructions {
        let (bytes, following) = rest.split_at(usize::from(instruction.length));
        let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        let mut text = String::new();
        formatter.format(&decoded, &mut text);
        lines.push((address, text));
        address = address.wrapping_add(bytes.len() as u64);
        rest = following;
    }
    lines
}
