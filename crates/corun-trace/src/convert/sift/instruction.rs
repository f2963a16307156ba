//! What of an instruction its executions have in common.

use iced_x86::{Instruction as Decoded, Mnemonic, OpKind};

use crate::{BranchKind, Form, MemoryOperand};

/// Addresses that Sniper's reader has room for, by instruction.
pub(super) const ADDRESSES: usize = 2;

/// An instruction of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Template {
    pub length: u8,
    /// Sniper's tracer marks only these as branches.
    pub is_conditional: bool,
    /// Whether it may do nothing, or its work several times: then each time is a record.
    pub is_predicated: bool,
    /// Addresses of one record, at most [`ADDRESSES`]. Sniper's decoder counts the operands, too, and
    /// insists on an address for each: it gets a 0 where none is traced.
    pub addresses: usize,
    /// Whether Sniper's decoder has its written operand first.
    pub is_written_first: bool,
}

impl Template {
    pub(super) fn new(decoded: &Decoded, operands: &[MemoryOperand]) -> Self {
        let form = operands.first().map_or(Form::Single, |operand| operand.form);
        Self {
            length: decoded.len() as u8,
            is_conditional: BranchKind::of(decoded) == Some(BranchKind::Conditional),
            is_predicated: form != Form::Single,
            addresses: operands.len().max(names_memory(decoded).into()).min(ADDRESSES),
            is_written_first: is_written_first(decoded.mnemonic()),
        }
    }
}

fn names_memory(decoded: &Decoded) -> bool {
    let is_computed_only = matches!(decoded.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    !is_computed_only && (0..decoded.op_count()).any(|at| decoded.op_kind(at) == OpKind::Memory)
}

fn is_written_first(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{Movsb, Movsd, Movsq, Movsw, Pop};
    matches!(mnemonic, Movsb | Movsw | Movsd | Movsq | Pop)
}

#[cfg(test)]
mod tests {
    use crate::{convert::decoded, decode};

    use super::*;

    #[test]
    fn every_memory_operand_has_an_address() {
        let cases: &[(&str, &[u8], usize)] = &[
            ("add [rbx], eax", &[0x01, 0x03], 1),
            ("push [rax]", &[0xff, 0x30], 2),
            ("call 5", &[0xe8, 0, 0, 0, 0], 1),
            ("leave", &[0xc9], 1),
            ("xlatb", &[0xd7], 1),
            ("maskmovdqu xmm0, xmm1", &[0x66, 0x0f, 0xf7, 0xc1], 1),
            ("movdir64b rax, [rbx]", &[0x66, 0x0f, 0x38, 0xf8, 0x03], 2),
            ("clwb [rax]", &[0x66, 0x0f, 0xae, 0x30], 1),
            ("cldemote [rax]", &[0x0f, 0x1c, 0x00], 1),
            ("prefetcht0 [rax]", &[0x0f, 0x18, 0x08], 1),
            ("lea rax, [rbx]", &[0x48, 0x8d, 0x03], 0),
            ("nop [rax]", &[0x0f, 0x1f, 0x00], 0),
            ("enter 8, 1", &[0xc8, 8, 0, 1], 2),
        ];
        for (text, code, expected) in cases {
            let block = decode(0, code).unwrap();
            let decoded = decoded(0, code).next().unwrap();
            assert_eq!(Template::new(&decoded, &block.operands).addresses, *expected, "{text}");
        }
    }
}
