//! Which registers a record names, so that ChampSim sees the dependencies and the kind of each branch.
//!
//! Numbers of general registers are Pin's, as in the traces of ChampSim's own tracer; the others are
//! ours, since ChampSim gives only three of its 256 a meaning.

use iced_x86::{
    Instruction as Decoded, InstructionInfoFactory, OpAccess, Register, RflagsBits, UsedRegister,
};

use crate::{BranchKind, ChampSimInstruction};

const STACK_POINTER: u8 = ChampSimInstruction::STACK_POINTER;
const FLAGS: u8 = ChampSimInstruction::FLAGS;
const INSTRUCTION_POINTER: u8 = ChampSimInstruction::INSTRUCTION_POINTER;

/// Stands for memory as the source of a branch's target, where no register does.
const MEMORY: u8 = 27;

/// Flags that arithmetic sets; the direction flag, say, would make every string instruction wait for
/// the last comparison.
const STATUS_FLAGS: u32 = RflagsBits::OF
    | RflagsBits::SF
    | RflagsBits::ZF
    | RflagsBits::AF
    | RflagsBits::CF
    | RflagsBits::PF;

/// The registers of one record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Registers {
    pub writes: [u8; 2],
    pub reads: [u8; 4],
    /// Number of registers of the instruction that are left out.
    pub left_out: u32,
}

impl Registers {
    pub(super) fn of(
        decoded: &Decoded,
        kind: Option<BranchKind>,
        factory: &mut InstructionInfoFactory,
    ) -> Self {
        let used = factory.info(decoded).used_registers();
        let data = |does: fn(OpAccess) -> bool| {
            let numbers = used.iter().filter(move |used| does(used.access())).filter_map(number);
            numbers.filter(|&number| number != STACK_POINTER || kind.is_none())
        };
        let flags = |bits: u32| (bits & STATUS_FLAGS != 0).then_some(FLAGS);
        let (reads, writes) = (data(is_read), data(is_written));
        let Some(kind) = kind else {
            return Self::fit(
                writes.chain(flags(decoded.rflags_modified())),
                reads.chain(flags(decoded.rflags_read())),
            );
        };
        let (pointer, stack) = (INSTRUCTION_POINTER, STACK_POINTER);
        let mut target = reads.peekable();
        let memory = target.peek().is_none().then_some(MEMORY);
        match kind {
            BranchKind::Jump | BranchKind::Other => Self::fit([pointer], [pointer]),
            BranchKind::IndirectJump => Self::fit([pointer], target.chain(memory)),
            BranchKind::Conditional => Self::fit(
                [pointer].into_iter().chain(writes),
                [pointer].into_iter().chain(flags(decoded.rflags_read())).chain(target),
            ),
            BranchKind::Call => Self::fit([stack, pointer], [stack, pointer]),
            BranchKind::IndirectCall => Self::fit(
                [stack, pointer],
                [stack, pointer].into_iter().chain(target).chain(memory),
            ),
            BranchKind::Return => Self::fit([stack, pointer], [stack]),
        }
    }

    /// As many as a record has places for, each once.
    fn fit(writes: impl IntoIterator<Item = u8>, reads: impl IntoIterator<Item = u8>) -> Self {
        let mut registers = Self::default();
        registers.left_out =
            place(&mut registers.writes, writes) + place(&mut registers.reads, reads);
        registers
    }
}

/// Fills the places, each register once, and counts those that have none.
fn place(places: &mut [u8], numbers: impl IntoIterator<Item = u8>) -> u32 {
    let mut left_out = 0;
    for number in numbers {
        match places.iter_mut().find(|place| [0, number].contains(place)) {
            Some(place) => *place = number,
            None => left_out += 1,
        }
    }
    left_out
}

fn is_read(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn is_written(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// The number of a register that programs compute with.
fn number(used: &UsedRegister) -> Option<u8> {
    let register = used.register().full_register();
    let general = match register {
        Register::RDI => 3,
        Register::RSI => 4,
        Register::RBP => 5,
        Register::RSP => STACK_POINTER,
        Register::RBX => 7,
        Register::RDX => 8,
        Register::RCX => 9,
        Register::RAX => 10,
        _ => 0,
    };
    let at = |first: u8, base: Register| first + (register as u32 - base as u32) as u8;
    match register {
        _ if general != 0 => Some(general),
        _ if register.is_gpr64() => Some(at(11, Register::R8)),
        _ if register.is_vector_register() => Some(at(32, Register::ZMM0)),
        _ if register.is_k() => Some(at(64, Register::K0)),
        _ if register.is_mm() => Some(at(72, Register::MM0)),
        _ if register.is_st() => Some(at(80, Register::ST0)),
        _ if register.is_tmm() => Some(at(88, Register::TMM0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    fn of(code: &[u8]) -> (Registers, Option<BranchKind>) {
        let decoded = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).decode();
        let kind = BranchKind::of(&decoded);
        (Registers::of(&decoded, kind, &mut InstructionInfoFactory::new()), kind)
    }

    #[test]
    fn champsim_classifies_every_branch_right() {
        let branches: &[(&str, &[u8])] = &[
            ("jmp 2", &[0xeb, 0x00]),
            ("jmp rax", &[0xff, 0xe0]),
            ("jmp rsp", &[0xff, 0xe4]),
            ("jmp [rip+2]", &[0xff, 0x25, 2, 0, 0, 0]),
            ("jmp [rsp+8]", &[0xff, 0x64, 0x24, 0x08]),
            ("jmp [rax+rcx*8]", &[0xff, 0x24, 0xc8]),
            ("jmp fs:[0x10]", &[0x64, 0xff, 0x24, 0x25, 0x10, 0, 0, 0]),
            ("je 2", &[0x74, 0x00]),
            ("ja 6", &[0x0f, 0x87, 0, 0, 0, 0]),
            ("jrcxz 2", &[0xe3, 0x00]),
            ("loop 2", &[0xe2, 0x00]),
            ("loopne 2", &[0xe0, 0x00]),
            ("call 5", &[0xe8, 0, 0, 0, 0]),
            ("call rax", &[0xff, 0xd0]),
            ("call [rip+2]", &[0xff, 0x15, 2, 0, 0, 0]),
            ("call [rsp+8]", &[0xff, 0x54, 0x24, 0x08]),
            ("call [rbp+r13*8]", &[0x42, 0xff, 0x54, 0xed, 0x00]),
            ("ret", &[0xc3]),
            ("ret 8", &[0xc2, 0x08, 0x00]),
            ("bnd ret", &[0xf2, 0xc3]),
        ];
        for (text, code) in branches {
            let (Registers { writes, reads, left_out }, kind) = of(code);
            let champsim = ChampSimInstruction { writes, reads, ..ChampSimInstruction::default() };
            assert!(kind.is_some(), "{text}");
            assert_eq!(champsim.branch_kind(), kind, "{text}");
            assert_eq!(left_out, 0, "{text}");
        }
    }

    #[test]
    fn other_instructions_depend_on_what_they_compute_with() {
        type Expected = ([u8; 2], [u8; 4], u32);
        let cases: &[(&str, &[u8], Expected)] = &[
            ("mov rax, [rip+2]", &[0x48, 0x8b, 0x05, 2, 0, 0, 0], ([10, 0], [0; 4], 0)),
            ("add eax, [rbx+r15]", &[0x42, 0x03, 0x04, 0x3b], ([10, 25], [10, 7, 18, 0], 0)),
            ("xor eax, eax", &[0x31, 0xc0], ([10, 25], [0; 4], 0)),
            ("push rdi", &[0x57], ([6, 0], [3, 6, 0, 0], 0)),
            ("adc al, ch", &[0x10, 0xe8], ([10, 25], [10, 9, 25, 0], 0)),
            ("lodsb", &[0xac], ([10, 4], [4, 0, 0, 0], 0)),
            ("mul rcx", &[0x48, 0xf7, 0xe1], ([10, 8], [9, 10, 0, 0], 1)),
            (
                "vaddpd ymm1, ymm2, ymm31",
                &[0x62, 0x91, 0xed, 0x28, 0x58, 0xcf],
                ([33, 0], [34, 63, 0, 0], 0),
            ),
            ("syscall", &[0x0f, 0x05], ([9, 14], [25, 0, 0, 0], 1)),
        ];
        for (text, code, expected) in cases {
            let (Registers { mut writes, mut reads, left_out }, kind) = of(code);
            let sorted = |places: &mut [u8]| places.sort_by_key(|&number| (number == 0, number));
            let (mut wanted_writes, mut wanted_reads) = (expected.0, expected.1);
            for places in [&mut writes[..], &mut reads, &mut wanted_writes, &mut wanted_reads] {
                sorted(places);
            }
            assert_eq!(kind, None, "{text}");
            assert_eq!(
                (writes, reads, left_out),
                (wanted_writes, wanted_reads, expected.2),
                "{text}"
            );
        }
    }
}
