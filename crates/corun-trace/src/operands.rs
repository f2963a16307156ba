//! From bytes to blocks: which operands an x86-64 instruction has in memory, in the order that traces
//! hold them.
//!
//! Decoding and the accesses are iced-x86's; the order is reads before writes, a read and a write of one
//! place are one operand.

use iced_x86::{
    CodeSize, Decoder, DecoderOptions, Instruction as Decoded, InstructionInfoFactory, MemorySize,
    Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

use crate::{Block, Code, Direction, Form, Instruction, MemoryOperand};

/// Bytes that are not whole instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected instructions of x86-64, found none at byte {at} of the code at {address:#x}")]
pub struct NotCode {
    /// Address of the code.
    pub address: u64,
    /// The first byte that is not part of an instruction, counted from 0.
    pub at: usize,
}

/// The block of instructions that are exactly these bytes.
///
/// # Errors
/// If they are empty, or not whole instructions.
pub fn decode(address: u64, bytes: &[u8]) -> Result<Block, NotCode> {
    decode_first(address, bytes, usize::MAX)
}

/// The block of the first instructions that begin these bytes, at most so many.
///
/// # Errors
/// As [`decode`].
pub(crate) fn decode_first(address: u64, bytes: &[u8], most: usize) -> Result<Block, NotCode> {
    let mut factory = InstructionInfoFactory::new();
    let (mut instructions, mut operands) = (Vec::new(), Vec::new());
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    while instructions.len() < most && decoder.can_decode() || instructions.is_empty() {
        let at = decoder.position();
        let decoded = decoder.decode();
        if decoded.is_invalid() {
            return Err(NotCode { address, at });
        }
        let own = memory_operands(&decoded, &mut factory);
        instructions.push(Instruction { length: decoded.len() as u8, operands: own.len() as u8 });
        operands.extend(own.into_iter().map(|(operand, _)| operand));
    }
    let code = Code::Bytes(bytes[..decoder.position()].to_owned());
    Ok(Block { address, code, instructions, operands })
}

/// The memory operands of an instruction in the order that traces hold them, each with what its address
/// is made of.
pub(crate) fn memory_operands(
    decoded: &Decoded,
    factory: &mut InstructionInfoFactory,
) -> Vec<(MemoryOperand, UsedMemory)> {
    if is_prefetch(decoded.mnemonic()) {
        return prefetched(decoded).into_iter().collect();
    }
    let form = form(decoded);
    let mut found: Vec<(MemoryOperand, UsedMemory)> = Vec::new();
    for &memory in factory.info(decoded).used_memory() {
        let Some(direction) = direction(memory.access()) else { continue };
        // Of a repeated operand, it is the size of all accesses that the decoder does not know.
        let size =
            size(if form == Form::Repeated { decoded.memory_size() } else { memory.memory_size() });
        let same = found.iter_mut().find(|(_, other)| is_same_place(other, &memory));
        match same {
            Some((operand, _)) if operand.direction != direction => {
                operand.direction = Direction::ReadWrite;
            }
            Some(_) => {}
            None => found.push((MemoryOperand { direction, size, form }, memory)),
        }
    }
    found.sort_by_key(|(operand, _)| operand.direction == Direction::Write);
    found
}

/// True if no other core comes between what an instruction reads and what it writes in memory: it is locked, or exchanges.
pub fn is_atomic(decoded: &Decoded) -> bool {
    let mut kinds = (0..decoded.op_count()).map(|index| decoded.op_kind(index));
    decoded.has_lock_prefix()
        || decoded.mnemonic() == Mnemonic::Xchg && kinds.any(|kind| kind == OpKind::Memory)
}

/// Effect of an [atomic](is_atomic) instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// It may find that it comes too early, and be tried again: an exchange, or one of a bit.
    Try,
    /// It adds something, or the like, whatever is there.
    Update,
}

/// Effect of each instruction of a block, if it is atomic; of no block whose code is not known.
pub fn atomics(block: &Block) -> Vec<Option<Atomic>> {
    use Mnemonic::{Btc, Btr, Bts, Cmpxchg, Cmpxchg8b, Cmpxchg16b, Xchg};
    let kind = |decoded: Decoded| match decoded.mnemonic() {
        _ if !is_atomic(&decoded) => None,
        Btc | Btr | Bts | Cmpxchg | Cmpxchg8b | Cmpxchg16b | Xchg => Some(Atomic::Try),
        _ => Some(Atomic::Update),
    };
    let bytes = block.bytes().unwrap_or_default();
    Decoder::with_ip(64, bytes, block.address, DecoderOptions::NONE).into_iter().map(kind).collect()
}

/// For each instruction of a block, whether it may leave its operands alone: a mask or the kind of
/// operand lets it.
pub(crate) fn may_access_nothing(block: &Block) -> Vec<bool> {
    let mut factory = InstructionInfoFactory::new();
    let bytes = block.bytes().unwrap_or_default();
    let decoder = Decoder::with_ip(64, bytes, block.address, DecoderOptions::NONE);
    let is_conditional = |decoded: Decoded| {
        let accesses = factory.info(&decoded).used_memory().iter().map(UsedMemory::access);
        is_prefetch(decoded.mnemonic())
            || is_flush(decoded.mnemonic())
            || decoded.has_op_mask()
            || accesses.clone().all(|access| {
                matches!(access, OpAccess::CondRead | OpAccess::CondWrite | OpAccess::None)
            })
    };
    decoder.into_iter().map(is_conditional).collect()
}

fn is_flush(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb)
}

fn is_prefetch(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{
        Prefetch, Prefetchit0, Prefetchit1, Prefetchnta, Prefetcht0, Prefetcht1, Prefetcht2,
        Prefetchw, Prefetchwt1,
    };
    matches!(
        mnemonic,
        Prefetch
            | Prefetchit0
            | Prefetchit1
            | Prefetchnta
            | Prefetcht0
            | Prefetcht1
            | Prefetcht2
            | Prefetchw
            | Prefetchwt1
    )
}

fn prefetched(decoded: &Decoded) -> Option<(MemoryOperand, UsedMemory)> {
    let is_memory = (0..decoded.op_count()).any(|index| decoded.op_kind(index) == OpKind::Memory);
    // The displacement of an address beside the instruction is the address.
    let base = Some(decoded.memory_base()).filter(|_| !decoded.is_ip_rel_memory_operand());
    let is_short = [decoded.memory_base(), decoded.memory_index()].iter().any(|it| it.is_gpr32());
    let memory = UsedMemory::new2(
        decoded.memory_segment(),
        base.unwrap_or(Register::None),
        decoded.memory_index(),
        decoded.memory_index_scale(),
        decoded.memory_displacement64(),
        decoded.memory_size(),
        OpAccess::Read,
        if is_short { CodeSize::Code32 } else { CodeSize::Code64 },
        0,
    );
    let operand = MemoryOperand { direction: Direction::Prefetch, size: 1, form: Form::Single };
    is_memory.then_some((operand, memory))
}

fn form(decoded: &Decoded) -> Form {
    let is_repeated = decoded.has_rep_prefix() || decoded.has_repne_prefix();
    if decoded.is_vsib() {
        Form::Lanes
    } else if decoded.is_string_instruction() && is_repeated {
        Form::Repeated
    } else {
        Form::Single
    }
}

fn direction(access: OpAccess) -> Option<Direction> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(Direction::Read),
        OpAccess::Write | OpAccess::CondWrite => Some(Direction::Write),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(Direction::ReadWrite),
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}

fn size(size: MemorySize) -> u16 {
    let bytes = if size.is_broadcast() { size.element_size() } else { size.size() };
    u16::try_from(bytes).unwrap_or(0)
}

fn is_same_place(one: &UsedMemory, other: &UsedMemory) -> bool {
    let place = |memory: &UsedMemory| {
        (memory.segment(), memory.base(), memory.index(), memory.scale(), memory.displacement())
    };
    place(one) == place(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Prefetch, Read, ReadWrite, Write};

    type Decoded = (Direction, u16, Form);

    fn of(code: &[u8]) -> Vec<Decoded> {
        let block = decode(0x40_0000, code).unwrap();
        assert_eq!(block.instructions.len(), 1, "{code:02x?}");
        let operands = block.operands.iter();
        operands.map(|operand| (operand.direction, operand.size, operand.form)).collect()
    }

    #[test]
    fn operands_are_reads_then_writes() {
        use Form::{Lanes, Repeated, Single};
        let cases: &[(&str, &[u8], &[Decoded])] = &[
            ("mov rax, [rbx]", &[0x48, 0x8b, 0x03], &[(Read, 8, Single)]),
            ("mov [rbx], al", &[0x88, 0x03], &[(Write, 1, Single)]),
            ("add [rbx], eax", &[0x01, 0x03], &[(ReadWrite, 4, Single)]),
            ("lea rax, [rbx]", &[0x48, 0x8d, 0x03], &[]),
            ("nop [rax]", &[0x0f, 0x1f, 0x00], &[]),
            ("push rax", &[0x50], &[(Write, 8, Single)]),
            ("push [rax]", &[0xff, 0x30], &[(Read, 8, Single), (Write, 8, Single)]),
            ("pop [rax]", &[0x8f, 0x00], &[(Read, 8, Single), (Write, 8, Single)]),
            ("call [rax]", &[0xff, 0x10], &[(Read, 8, Single), (Write, 8, Single)]),
            ("ret", &[0xc3], &[(Read, 8, Single)]),
            ("leave", &[0xc9], &[(Read, 8, Single)]),
            ("movsb", &[0xa4], &[(Read, 1, Single), (Write, 1, Single)]),
            ("rep movsq", &[0xf3, 0x48, 0xa5], &[(Read, 8, Repeated), (Write, 8, Repeated)]),
            ("rep stosb", &[0xf3, 0xaa], &[(Write, 1, Repeated)]),
            ("repe cmpsb", &[0xf3, 0xa6], &[(Read, 1, Repeated), (Read, 1, Repeated)]),
            ("repne scasb", &[0xf2, 0xae], &[(Read, 1, Repeated)]),
            ("xchg [rbx], rax", &[0x48, 0x87, 0x03], &[(ReadWrite, 8, Single)]),
            ("lock cmpxchg16b [rdi]", &[0xf0, 0x48, 0x0f, 0xc7, 0x0f], &[(ReadWrite, 16, Single)]),
            ("prefetcht0 [rax]", &[0x0f, 0x18, 0x08], &[(Prefetch, 1, Single)]),
            ("prefetchw [rax]", &[0x0f, 0x0d, 0x08], &[(Prefetch, 1, Single)]),
            ("movntdq [rax], xmm0", &[0x66, 0x0f, 0xe7, 0x00], &[(Write, 16, Single)]),
            ("vmovdqu ymm0, [rax]", &[0xc5, 0xfe, 0x6f, 0x00], &[(Read, 32, Single)]),
            (
                "vpgatherdd xmm0, [rax+xmm1*4], xmm2",
                &[0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88],
                &[(Read, 4, Lanes)],
            ),
            (
                "vpaddd zmm0, zmm1, [rax]{1to16}",
                &[0x62, 0xf1, 0x75, 0x58, 0xfe, 0x00],
                &[(Read, 4, Single)],
            ),
            ("fxsave [rax]", &[0x0f, 0xae, 0x00], &[(Write, 512, Single)]),
            ("xsave [rax]", &[0x0f, 0xae, 0x20], &[(ReadWrite, 0, Single)]),
            ("syscall", &[0x0f, 0x05], &[]),
        ];
        for (text, code, expected) in cases {
            assert_eq!(of(code), *expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_code_is_refused_where_it_begins() {
        assert_eq!(decode(8, &[]), Err(NotCode { address: 8, at: 0 }));
        assert_eq!(decode(8, &[0x90, 0x06]), Err(NotCode { address: 8, at: 1 }));
        assert_eq!(decode(8, &[0x90, 0x48]), Err(NotCode { address: 8, at: 1 }));
    }
}
