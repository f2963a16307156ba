//! Effects of a block on its next execution: registers that it reads and then changes. A loop that carries nothing does
//! the same each time round, until another thread changes what it reads.

use corun_trace::{Block, Form, is_atomic};
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};

/// A set of registers: the low part of each general register apart from the whole, as code sets one and reads that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Registers(u128);

/// State that a sequence of instructions reads from before it, and state that it changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Effects {
    read: Registers,
    written: Registers,
    /// It asks for something besides memory (the time, a system call), or is atomic, or accesses many places.
    is_other: bool,
}

impl Effects {
    pub(super) fn of(block: &Block, factory: &mut InstructionInfoFactory) -> Self {
        let bytes = block.bytes().unwrap_or_default();
        let is_single = block.operands.iter().all(|operand| operand.form == Form::Single);
        let mut all = Self { is_other: bytes.is_empty() || !is_single, ..Self::default() };
        for instruction in Decoder::with_ip(64, bytes, block.address, DecoderOptions::NONE) {
            all = all.then(&Self::of_instruction(&instruction, factory));
        }
        all
    }

    fn of_instruction(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> Self {
        use Mnemonic::{Cpuid, Int, Int3, Rdpmc, Rdrand, Rdseed, Rdtsc, Rdtscp, Syscall, Sysenter};
        let asks = matches!(
            instruction.mnemonic(),
            Cpuid | Int | Int3 | Rdpmc | Rdrand | Rdseed | Rdtsc | Rdtscp | Syscall | Sysenter
        );
        let mut own = Self { is_other: asks || is_atomic(instruction), ..Self::default() };
        for used in factory.info(instruction).used_registers() {
            use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
            let places = Registers::of(used.register());
            let (reads, writes) = match used.access() {
                Read | CondRead => (true, false),
                Write => (false, true),
                // What may not be written keeps what was there.
                ReadWrite | CondWrite | ReadCondWrite => (true, true),
                _ => (false, false),
            };
            own.read.0 |= if reads { places.0 } else { 0 };
            own.written.0 |= if writes { places.0 } else { 0 };
        }
        own.read.0 |= if instruction.rflags_read() != 0 { FLAGS } else { 0 };
        own.written.0 |= if instruction.rflags_modified() != 0 { FLAGS } else { 0 };
        own
    }

    /// Those of this and what follows it.
    pub(super) fn then(&self, next: &Self) -> Self {
        Self {
            read: Registers(self.read.0 | next.read.0 & !self.written.0),
            written: Registers(self.written.0 | next.written.0),
            is_other: self.is_other || next.is_other,
        }
    }

    /// True if it does the same again unless memory has changed.
    pub(super) fn carry_nothing(&self) -> bool {
        !self.is_other && self.read.0 & self.written.0 == 0
    }
}

const FLAGS: u128 = 1 << 127;

impl Registers {
    fn of(register: Register) -> Self {
        let full = register.full_register();
        if matches!(full, Register::RSP | Register::RIP | Register::None) {
            // Where equal addresses are accessed each time, the stack is as high.
            return Self::default();
        }
        let number = full.number();
        match register {
            _ if register.is_gpr8() || register.is_gpr16() => Self(1 << (2 * number)),
            _ if full.is_gpr() => Self(3 << (2 * number)),
            _ if full.is_vector_register() => Self(1 << (32 + number)),
            _ if full.is_k() => Self(1 << (64 + number)),
            // x87, MMX, segments: seldom, and all together.
            _ => Self(1 << 72),
        }
    }
}

#[cfg(test)]
mod tests {
    use corun_trace::decode;

    use super::*;

    fn carries_nothing(code: &[u8]) -> bool {
        let block = decode(0x1000, code).unwrap();
        Effects::of(&block, &mut InstructionInfoFactory::new()).carry_nothing()
    }

    #[test]
    fn loops_that_poll_carry_nothing_and_loops_that_work_do() {
        // cmp dword ptr [rax], 0; je; then the same with a copy on the stack, as without optimisation; then with pause.
        assert!(carries_nothing(&[0x83, 0x38, 0x00, 0x74, 0xfb]));
        assert!(carries_nothing(&[
            0x8b, 0x05, 0, 0, 0, 0, 0x89, 0x45, 0xfc, 0x83, 0x7d, 0xfc, 0, 0x74, 0xf1
        ]));
        assert!(carries_nothing(&[0xf3, 0x90, 0x48, 0x8b, 0x03, 0x48, 0x85, 0xc0, 0x74, 0xf6]));
        // sete al; movzx eax, al.
        assert!(carries_nothing(&[0x3b, 0x3e, 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0]));
        // dec rcx; add rax, [rbx]; rdtsc; lock inc [rax]; rep movsb.
        for code in [
            &[0x48, 0xff, 0xc9][..],
            &[0x48, 0x03, 0x03],
            &[0x0f, 0x31],
            &[0xf0, 0x48, 0xff, 0x00],
            &[0xf3, 0xa4],
        ] {
            assert!(!carries_nothing(code), "{code:x?}");
        }
    }
}
