//! Machine code from instructions: routines with their registers set, in a loop.

use std::mem::offset_of;

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

/// State of the registers when a routine begins and ends.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct State {
    /// In the order of [`GENERAL`].
    pub general: [u64; GENERAL.len()],
    /// Every vector register.
    pub vector: [u64; 4],
    /// Control of vector arithmetic inside and outside.
    pub control: [u32; 2],
}

/// The registers that a routine has; `rdi` is set last.
pub(crate) const GENERAL: [Register; 14] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RBP,
    Register::RSI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::RDI,
];

/// The function's own.
const COUNTER: Register = Register::R15;
/// Those that a caller of the System V convention keeps.
const KEPT: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
/// Alignment of a loop, since code is fetched and cached in aligned lines.
const ALIGNMENT: usize = 64;

/// The bytes of an instruction that does not depend on its place.
///
/// # Panics
/// If its operands do not fit its code.
pub(crate) fn encode(instruction: &Instruction) -> Vec<u8> {
    let mut encoder = Encoder::new(64);
    encoder.encode(instruction, 0).expect("operands that fit");
    encoder.take_buffer()
}

/// The bytes of several.
pub(crate) fn encode_all<'i>(instructions: impl IntoIterator<Item = &'i Instruction>) -> Vec<u8> {
    instructions.into_iter().flat_map(encode).collect()
}

/// A function of a [`State`] and the times that it does the body, which must be at least one, after the
/// setup.
pub(crate) fn function(setup: &[u8], body: &[u8], has_avx: bool) -> Vec<u8> {
    let mut code = Vec::with_capacity(body.len() + 512);
    let mut push = |instruction: Result<Instruction, iced_x86::IcedError>| {
        code.extend(encode(&instruction.expect("operands that fit")));
    };
    for register in KEPT {
        push(Instruction::with1(Code::Push_r64, register));
    }
    push(Instruction::with1(Code::Push_r64, Register::RDI));
    push(Instruction::with2(Code::Mov_r64_rm64, COUNTER, Register::RSI));
    let state = |offset: usize| MemoryOperand::with_base_displ(Register::RDI, offset as i64);
    let control = offset_of!(State, control);
    push(Instruction::with1(Code::Ldmxcsr_m32, state(control)));
    let vector = if has_avx { Code::VEX_Vmovups_ymm_ymmm256 } else { Code::Movups_xmm_xmmm128 };
    let first = if has_avx { Register::YMM0 } else { Register::XMM0 };
    for number in 0..16 {
        push(Instruction::with2(vector, first + number, state(offset_of!(State, vector))));
    }
    for (index, register) in GENERAL.into_iter().enumerate() {
        push(Instruction::with2(Code::Mov_r64_rm64, register, state(8 * index)));
    }
    code.extend_from_slice(setup);
    while code.len() % ALIGNMENT != 0 {
        code.push(0x90);
    }
    let begin = code.len();
    code.extend_from_slice(body);
    let mut push = |instruction: Result<Instruction, iced_x86::IcedError>| {
        code.extend(encode(&instruction.expect("operands that fit")));
    };
    push(Instruction::with1(Code::Dec_rm64, COUNTER));
    // jne begin
    let distance = begin as i64 - (code.len() as i64 + 6);
    code.extend([0x0f, 0x85]);
    code.extend((distance as i32).to_le_bytes());
    let mut push = |instruction: Result<Instruction, iced_x86::IcedError>| {
        code.extend(encode(&instruction.expect("operands that fit")));
    };
    push(Instruction::with2(Code::Mov_r64_rm64, COUNTER, MemoryOperand::with_base(Register::RSP)));
    let state = |offset: usize| MemoryOperand::with_base_displ(COUNTER, offset as i64);
    for (index, register) in GENERAL.into_iter().enumerate() {
        push(Instruction::with2(Code::Mov_rm64_r64, state(8 * index), register));
    }
    push(Instruction::with1(Code::Ldmxcsr_m32, state(control + 4)));
    if has_avx {
        push(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    }
    push(Instruction::with1(Code::Pop_r64, Register::RDI));
    for register in KEPT.into_iter().rev() {
        push(Instruction::with1(Code::Pop_r64, register));
    }
    push(Ok(Instruction::with(Code::Retnq)));
    code
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, FlowControl};

    use super::*;

    #[test]
    fn the_loop_goes_back_to_an_aligned_body() {
        let body = [0x48, 0xff, 0xc0];
        let code = function(&[], &body, true);
        let decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
        let instructions: Vec<Instruction> = decoder.into_iter().collect();
        let branch = |it: &&Instruction| it.flow_control() == FlowControl::ConditionalBranch;
        let target = instructions.iter().find(branch).unwrap().near_branch_target() as usize;
        assert_eq!((target % ALIGNMENT, &code[target..target + 3]), (0, &body[..]));
        assert_eq!(instructions.last().unwrap().code(), Code::Retnq);
        assert!(instructions.iter().all(|it| !it.is_invalid()));
        let count = |code: Code| instructions.iter().filter(|it| it.code() == code).count();
        assert_eq!(count(Code::Push_r64), count(Code::Pop_r64));
    }
}
