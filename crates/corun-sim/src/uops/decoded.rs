//! Properties of decoded instructions that lowering asks for: exchanges, false dependencies, late sources, hints.

use corun_model::timing::{LateSource, Timing};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::uops::register::{File, RegisterId};

/// The registers that the renamer exchanges, if the core takes no port for that.
pub(super) fn exchanged(
    decoded: &Instruction,
    timing: &Timing,
) -> Option<(RegisterId, RegisterId)> {
    let exchanges = matches!(decoded.mnemonic(), Mnemonic::Xchg | Mnemonic::Fxch);
    let is_renamed = timing.latency == 0 && timing.uops.is_empty();
    let register = |at| {
        let is_register = decoded.op_kind(at) == OpKind::Register;
        RegisterId::of(if is_register { decoded.op_register(at) } else { Register::None })
    };
    (exchanges && is_renamed && decoded.op_count() == 2).then_some(())?;
    register(0).zip(register(1))
}

/// The register that the form waits for and does not read (a false dependency).
pub(super) fn awaited_target(decoded: &Instruction, timing: &Timing) -> Option<RegisterId> {
    let is_awaited = timing.late.iter().any(|late| late.source == LateSource::Target);
    (is_awaited && decoded.op0_kind() == OpKind::Register)
        .then(|| RegisterId::of(decoded.op0_register()))
        .flatten()
}

/// Cycles by which a source may come after the others.
pub(super) fn late(decoded: &Instruction, register: RegisterId, timing: &Timing) -> u8 {
    let latency = timing
        .late
        .iter()
        .find(|late| match late.source {
            LateSource::Operand(operand) => {
                let at = u32::from(operand);
                at < decoded.op_count()
                    && decoded.op_kind(at) == OpKind::Register
                    && RegisterId::of(decoded.op_register(at)) == Some(register)
            }
            LateSource::Target => {
                decoded.op0_kind() == OpKind::Register
                    && RegisterId::of(decoded.op0_register()) == Some(register)
            }
            LateSource::Flags => register.file() == File::Flags,
            LateSource::Index => {
                RegisterId::of(decoded.memory_index()) == Some(register)
                    && decoded.memory_base() != decoded.memory_index()
            }
        })
        .map_or(timing.latency, |late| late.latency);
    timing.latency.saturating_sub(latency).min(u8::MAX.into()) as u8
}

pub(super) fn is_stack_operation(decoded: &Instruction) -> bool {
    let is_push_or_pop = matches!(decoded.mnemonic(), Mnemonic::Push | Mnemonic::Pop);
    let names_it = (0..decoded.op_count())
        .filter(|&at| decoded.op_kind(at) == OpKind::Register)
        .any(|at| RegisterId::of(decoded.op_register(at)) == Some(RegisterId::STACK_POINTER));
    (is_push_or_pop && !names_it) || matches!(decoded.mnemonic(), Mnemonic::Call | Mnemonic::Ret)
}

/// True for the hints with which a thread gives its siblings the core for a while.
pub(super) fn is_spin_wait_hint(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Pause | Mnemonic::Tpause | Mnemonic::Umwait | Mnemonic::Mwaitx)
}

pub(super) fn is_serializing(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Lfence | Mnemonic::Mfence | Mnemonic::Cpuid | Mnemonic::Serialize)
}

pub(super) fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

/// An operand-size prefix before an immediate of two bytes.
pub(super) fn has_length_changing_prefix(decoded: &Instruction) -> bool {
    (0..decoded.op_count()).any(|at| decoded.op_kind(at) == OpKind::Immediate16)
        && !matches!(decoded.mnemonic(), Mnemonic::Ret | Mnemonic::Enter)
}
