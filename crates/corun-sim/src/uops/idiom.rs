//! Instructions that a core finishes while renaming, recognised by their bytes alone.

use iced_x86::{Code, Instruction, Mnemonic, OpKind, Register};

use crate::uops::register::RegisterId;
use corun_model::Elimination;

/// Idiom of an instruction that the renamer recognises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idiom {
    /// Does nothing.
    Nop,
    /// Gives zero without reading; whether it needs no port either.
    Zero { without_port: bool },
    /// Gives all ones without reading.
    Ones,
    /// Reads nothing but the carry.
    Carry,
    /// Does not wait for the part of its target that it keeps.
    Unmerged(RegisterId),
    /// Copies a register, target and source.
    Move(RegisterId, RegisterId),
}

/// The idiom that the core knows in this instruction, if it knows one.
pub(super) fn idiom(decoded: &Instruction, known: &Elimination) -> Option<Idiom> {
    if is_nop(decoded) {
        return Some(Idiom::Nop);
    }
    if let Some((to, from)) = copied(decoded) {
        let is_eliminated = if to.is_gpr() { known.integer_moves } else { known.vector_moves };
        let is_distinct = to.full_register() != from.full_register();
        let both = RegisterId::of(to).zip(RegisterId::of(from));
        return both
            .filter(|_| is_eliminated && is_distinct)
            .map(|(to, from)| Idiom::Move(to, from));
    }
    if let Some(kept) = kept(decoded, known) {
        return Some(Idiom::Unmerged(kept));
    }
    let sources = same_sources(decoded)?;
    // A part of a register keeps the rest of it.
    if sources.is_gpr8() || sources.is_gpr16() {
        return None;
    }
    let name = format!("{:?}", decoded.mnemonic()).to_lowercase();
    let is_in = |names: &[String]| names.contains(&name);
    if is_in(&known.zero_idioms) {
        return Some(Idiom::Zero { without_port: is_in(&known.without_port) });
    }
    let carry = is_in(&known.carry_idioms).then_some(Idiom::Carry);
    carry.or(is_in(&known.ones_idioms).then_some(Idiom::Ones))
}

/// The vector register of which the instruction keeps a part, if the core does not wait for that. It is the first operand,
/// or with VEX the second, and none of those that the result is made of.
fn kept(decoded: &Instruction, known: &Elimination) -> Option<RegisterId> {
    let last = decoded.op_count().checked_sub(1)?;
    if last == 0 || known.unmerged.is_empty() {
        return None;
    }
    let name = format!("{:?}", decoded.mnemonic()).to_lowercase();
    let register = |at| {
        let is_register = decoded.op_kind(at) == OpKind::Register;
        RegisterId::of(if is_register { decoded.op_register(at) } else { Register::None })
    };
    let kept = register(last - 1)?;
    (known.unmerged.contains(&name) && register(last) != Some(kept)).then_some(kept)
}

fn is_nop(decoded: &Instruction) -> bool {
    matches!(decoded.mnemonic(), Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Endbr32)
}

/// Target and source of a plain copy that changes no width.
fn copied(decoded: &Instruction) -> Option<(Register, Register)> {
    use Code::{
        EVEX_Vmovapd_xmm_k1z_xmmm128, EVEX_Vmovapd_ymm_k1z_ymmm256, EVEX_Vmovapd_zmm_k1z_zmmm512,
        EVEX_Vmovaps_xmm_k1z_xmmm128, EVEX_Vmovaps_ymm_k1z_ymmm256, EVEX_Vmovaps_zmm_k1z_zmmm512,
        EVEX_Vmovdqa32_xmm_k1z_xmmm128, EVEX_Vmovdqa32_ymm_k1z_ymmm256,
        EVEX_Vmovdqa32_zmm_k1z_zmmm512, EVEX_Vmovdqa64_xmm_k1z_xmmm128,
        EVEX_Vmovdqa64_ymm_k1z_ymmm256, EVEX_Vmovdqa64_zmm_k1z_zmmm512, Mov_r32_rm32, Mov_r64_rm64,
        Mov_rm32_r32, Mov_rm64_r64, Movapd_xmm_xmmm128, Movaps_xmm_xmmm128, Movdqa_xmm_xmmm128,
        Movdqu_xmm_xmmm128, Movupd_xmm_xmmm128, Movups_xmm_xmmm128, VEX_Vmovapd_xmm_xmmm128,
        VEX_Vmovapd_ymm_ymmm256, VEX_Vmovaps_xmm_xmmm128, VEX_Vmovaps_ymm_ymmm256,
        VEX_Vmovdqa_xmm_xmmm128, VEX_Vmovdqa_ymm_ymmm256, VEX_Vmovdqu_xmm_xmmm128,
        VEX_Vmovdqu_ymm_ymmm256, VEX_Vmovupd_xmm_xmmm128, VEX_Vmovupd_ymm_ymmm256,
        VEX_Vmovups_xmm_xmmm128, VEX_Vmovups_ymm_ymmm256,
    };
    let is_copy = matches!(
        decoded.code(),
        Mov_r32_rm32
            | Mov_rm32_r32
            | Mov_r64_rm64
            | Mov_rm64_r64
            | Movaps_xmm_xmmm128
            | Movapd_xmm_xmmm128
            | Movups_xmm_xmmm128
            | Movupd_xmm_xmmm128
            | Movdqa_xmm_xmmm128
            | Movdqu_xmm_xmmm128
            | VEX_Vmovaps_xmm_xmmm128
            | VEX_Vmovaps_ymm_ymmm256
            | VEX_Vmovapd_xmm_xmmm128
            | VEX_Vmovapd_ymm_ymmm256
            | VEX_Vmovups_xmm_xmmm128
            | VEX_Vmovups_ymm_ymmm256
            | VEX_Vmovupd_xmm_xmmm128
            | VEX_Vmovupd_ymm_ymmm256
            | VEX_Vmovdqa_xmm_xmmm128
            | VEX_Vmovdqa_ymm_ymmm256
            | VEX_Vmovdqu_xmm_xmmm128
            | VEX_Vmovdqu_ymm_ymmm256
            | EVEX_Vmovaps_xmm_k1z_xmmm128
            | EVEX_Vmovaps_ymm_k1z_ymmm256
            | EVEX_Vmovaps_zmm_k1z_zmmm512
            | EVEX_Vmovapd_xmm_k1z_xmmm128
            | EVEX_Vmovapd_ymm_k1z_ymmm256
            | EVEX_Vmovapd_zmm_k1z_zmmm512
            | EVEX_Vmovdqa32_xmm_k1z_xmmm128
            | EVEX_Vmovdqa32_ymm_k1z_ymmm256
            | EVEX_Vmovdqa32_zmm_k1z_zmmm512
            | EVEX_Vmovdqa64_xmm_k1z_xmmm128
            | EVEX_Vmovdqa64_ymm_k1z_ymmm256
            | EVEX_Vmovdqa64_zmm_k1z_zmmm512
    );
    let between_registers =
        decoded.op0_kind() == OpKind::Register && decoded.op1_kind() == OpKind::Register;
    (is_copy && between_registers && !decoded.has_op_mask())
        .then(|| (decoded.op0_register(), decoded.op1_register()))
}

/// The register that both sources are, if they are one.
fn same_sources(decoded: &Instruction) -> Option<Register> {
    let last = decoded.op_count().checked_sub(1)?;
    let before = last.checked_sub(1)?;
    let register = |at| (decoded.op_kind(at) == OpKind::Register).then(|| decoded.op_register(at));
    let one = register(last)?;
    (register(before)? == one && !decoded.has_op_mask()).then_some(one)
}
