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
    /// Addresses of one record, at most [`ADDRESSES`]; Sniper's decoder counts them, too, and reads as
    /// many.
    pub addresses: usize,
    /// Whether Sniper's decoder has its written operand first.
    pub is_written_first: bool,
}

impl Template {
    pub fn new(decoded: &Decoded, operands: &[MemoryOperand]) -> Self {
        let form = operands.first().map_or(Form::Single, |operand| operand.form);
        let names_memory = (0..decoded.op_count()).any(|at| decoded.op_kind(at) == OpKind::Memory);
        Self {
            length: decoded.len() as u8,
            is_conditional: BranchKind::of(decoded) == Some(BranchKind::Conditional),
            is_predicated: form != Form::Single,
            addresses: operands.len().max(names_memory.into()).min(ADDRESSES),
            is_written_first: is_written_first(decoded.mnemonic()),
        }
    }
}

fn is_written_first(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{Movsb, Movsd, Movsq, Movsw, Pop};
    matches!(mnemonic, Movsb | Movsw | Movsd | Movsq | Pop)
}
