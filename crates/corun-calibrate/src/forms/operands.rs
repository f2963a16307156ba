//! The operands of a form: their register banks, and whether they are read or written.

use corun_model::timing::form;
use iced_x86::{Decoder, DecoderOptions, Encoder, Instruction, OpAccess, Register};

/// Bank in which registers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bank {
    General,
    Vector,
    Mask,
    Mmx,
    X87,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    /// Of which registers, if it is one that can be chosen.
    pub(super) bank: Option<Bank>,
    pub(super) access: OpAccess,
    pub(super) first: Register,
    pub(super) is_memory: bool,
}

impl Operand {
    pub(super) fn reads(self) -> bool {
        reads(self.access)
    }

    pub(super) fn writes(self) -> bool {
        writes(self.access)
    }
}

pub(super) fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite};
    // What may be left as it was is waited for.
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite | CondWrite)
}

pub(super) fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// Bank in which a register is kept, and the first of its kind.
pub(super) fn bank(register: Register) -> (Option<Bank>, Register) {
    match register {
        _ if register.is_gpr8() => (Some(Bank::General), Register::AL),
        _ if register.is_gpr16() => (Some(Bank::General), Register::AX),
        _ if register.is_gpr32() => (Some(Bank::General), Register::EAX),
        _ if register.is_gpr64() => (Some(Bank::General), Register::RAX),
        _ if register.is_xmm() => (Some(Bank::Vector), Register::XMM0),
        _ if register.is_ymm() => (Some(Bank::Vector), Register::YMM0),
        _ if register.is_zmm() => (Some(Bank::Vector), Register::ZMM0),
        _ if register.is_k() => (Some(Bank::Mask), Register::K0),
        _ if register.is_mm() => (Some(Bank::Mmx), Register::MM0),
        _ if register.is_st() => (Some(Bank::X87), Register::ST0),
        _ => (None, Register::None),
    }
}

pub(super) fn set(instruction: &mut Instruction, index: usize, operand: &Operand, number: u32) {
    let register = match operand.first {
        Register::AL => low_byte(number),
        first => first + number,
    };
    instruction.set_op_register(index as u32, register);
}

fn low_byte(number: u32) -> Register {
    const LOW: [Register; 4] = [Register::AL, Register::CL, Register::DL, Register::BL];
    match LOW.get(number as usize) {
        Some(register) => *register,
        None => Register::SPL + (number - 4),
    }
}

pub(super) fn decoded(instruction: &Instruction) -> Option<Instruction> {
    let mut encoder = Encoder::new(64);
    encoder.encode(instruction, 0).ok()?;
    let bytes = encoder.take_buffer();
    Some(Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE).decode())
}

pub(super) fn is_form(instruction: &Instruction, name: &str) -> bool {
    decoded(instruction).is_some_and(|decoded| form(&decoded) == name)
}

pub(super) fn is_encoded(instruction: &Instruction, name: &str, index: usize) -> bool {
    decoded(instruction).is_some_and(|decoded| {
        let same = decoded.op_register(index as u32) == instruction.op_register(index as u32);
        same && form(&decoded) == name
    })
}
