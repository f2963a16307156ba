//! Which micro-ops of an instruction share a slot, and what decoders ask of it before.

use corun_trace::Direction;
use iced_x86::{ConstantOffsets, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};

use crate::uops::kind::Kind;
use crate::uops::uop::DecodedInstruction;
use corun_model::Fusion;

/// Slots from renaming on: of an instruction with an indexed address, micro-ops that were one until
/// then part, unless the core keeps them (Intel, Optimization Reference Manual, 2.4.2.4).
pub(super) fn renamed(
    decoded: &Instruction,
    lowered: &DecodedInstruction,
    fusion: &Fusion,
    factory: &mut InstructionInfoFactory,
) -> u8 {
    let is_indexed = lowered.memory.iter().any(|memory| memory.registers[1].is_some());
    if !fusion.micro || fusion.micro_indexed || !is_indexed {
        return lowered.slots;
    }
    let uops = lowered.uops.iter().filter(|uop| uop.ports != 0);
    let computes = uops.clone().any(|uop| uop.kind == Kind::Compute);
    let loads = lowered.loads > 0;
    let first_is_source = matches!(
        factory.info(decoded).op0_access(),
        OpAccess::Read | OpAccess::ReadWrite | OpAccess::ReadCondWrite | OpAccess::CondWrite
    );
    let is_kept = fusion.micro_indexed_updating && (!computes || !loads || first_is_source);
    let parts = uops.count().min(usize::from(u8::MAX)) as u8;
    if is_kept { lowered.slots } else { lowered.slots.max(parts) }
}

/// Gives each micro-op its slot: one that accesses memory shares it with the next, where slots are
/// fewer than micro-ops.
pub(super) fn share(lowered: &mut DecodedInstruction) {
    let last = lowered.renamed.saturating_sub(1);
    let count = lowered.uops.iter().filter(|uop| uop.ports != 0).count();
    let (mut slot, mut at, mut is_shared) = (0u8, 0, false);
    for uop in lowered.uops.iter_mut().filter(|uop| uop.ports != 0) {
        uop.slot = slot.min(last);
        at += 1;
        let is_memory = !matches!(uop.kind, Kind::Compute | Kind::StoreData(_));
        let left = usize::from((last + 1).saturating_sub(slot));
        is_shared = !is_shared && is_memory && count - at >= left;
        slot += u8::from(!is_shared && slot < last);
    }
}

/// True if it may become one micro-op with a jump after it.
pub(super) fn may_fuse(
    decoded: &Instruction,
    lowered: &DecodedInstruction,
    fusion: &Fusion,
) -> bool {
    let writes = lowered.memory.iter().any(|memory| memory.direction != Direction::Read);
    let has_both = !lowered.memory.is_empty() && has_immediate(decoded);
    fusion.not_last
        && !writes
        && !has_both
        && fusion.with_branch.contains(&format!("{:?}", decoded.mnemonic()).to_lowercase())
}

/// True if a list of a model names it, as `pop r12`.
pub(super) fn is_named(decoded: &Instruction, names: &[String]) -> bool {
    if names.is_empty() || decoded.op_count() != 1 || decoded.op0_kind() != OpKind::Register {
        return false;
    }
    let name = format!("{:?} {:?}", decoded.mnemonic(), decoded.op0_register()).to_lowercase();
    names.contains(&name)
}

/// Immediates and displacements that an op cache keeps, those of 64 bits counted twice; none of a
/// NOP, whose displacement addresses nothing.
pub(super) fn constants(decoded: &Instruction, encoded: &ConstantOffsets) -> u8 {
    if decoded.mnemonic() == Mnemonic::Nop {
        return 0;
    }
    let sizes = [encoded.displacement_size(), encoded.immediate_size(), encoded.immediate_size2()];
    sizes.into_iter().map(|bytes| bytes.div_ceil(4) as u8).sum()
}

/// Offset of the opcode after prefixes and escapes.
pub(super) fn opcode_at(bytes: &[u8]) -> u8 {
    const PREFIXES: [u8; 11] = [0x66, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x67, 0xf0];
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let mut index = bytes.iter().take_while(|byte| PREFIXES.contains(byte)).count();
    match at(index) {
        0xc5 => return index as u8 + 2,
        0xc4 => return index as u8 + 3,
        0x62 => return index as u8 + 4,
        0x40..=0x4f => index += 1,
        _ => {}
    }
    if at(index) == 0x0f {
        index += 1;
        index += usize::from(matches!(at(index), 0x38 | 0x3a));
    }
    index as u8
}

fn has_immediate(decoded: &Instruction) -> bool {
    (0..decoded.op_count()).any(|at| decoded.try_immediate(at).is_ok())
}
