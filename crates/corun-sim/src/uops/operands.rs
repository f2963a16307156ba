//! Which registers an instruction reads for its data and for addresses, and which it writes.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, UsedRegister};

use crate::uops::register::RegisterId;

/// Registers that an instruction reads for its data, and those that it writes.
#[derive(Debug, Clone, Default)]
pub(super) struct Used {
    pub(super) sources: Vec<RegisterId>,
    pub(super) results: Vec<RegisterId>,
    pub(super) addresses: Vec<RegisterId>,
    /// True if it stores past the caches.
    pub(super) streams: bool,
}

impl Used {
    pub(super) fn of(decoded: &Instruction, factory: &mut InstructionInfoFactory) -> Self {
        let info = factory.info(decoded);
        let mut used = Self { streams: streams(decoded.mnemonic()), ..Self::default() };
        let registers = info.used_registers().iter();
        let address = info.used_memory().iter().flat_map(|memory| [memory.base(), memory.index()]);
        used.addresses = address.filter_map(RegisterId::of).collect();
        for one in registers {
            let Some(register) = RegisterId::of(one.register()) else { continue };
            let is_address_only = one.access() == OpAccess::Read
                && used.addresses.contains(&register)
                && !is_read_operand(decoded, register);
            if (reads(one.access()) || keeps_rest(one)) && !is_address_only {
                add(&mut used.sources, register);
            }
            if writes(one.access()) {
                add(&mut used.results, register);
            }
        }
        // What pushes on the x87 stack is listed without its result where that comes from memory or from nowhere.
        let pushes = decoded.fpu_stack_increment_info().increment() < 0;
        if pushes && decoded.mnemonic() != Mnemonic::Fdecstp {
            add(&mut used.results, RegisterId::X87_TOP);
        }
        for group in RegisterId::of_flags(decoded.rflags_read()) {
            add(&mut used.sources, group);
        }
        for group in RegisterId::of_flags(decoded.rflags_modified()) {
            add(&mut used.results, group);
        }
        used
    }

    /// These operands with one more register that is waited for.
    pub(super) fn with(mut self, source: Option<RegisterId>) -> Self {
        source.into_iter().for_each(|source| add(&mut self.sources, source));
        self
    }

    pub(super) fn names(&self, register: RegisterId) -> bool {
        [&self.sources, &self.results, &self.addresses]
            .into_iter()
            .any(|all| all.contains(&register))
    }

    pub(super) fn forget(&mut self, register: RegisterId) {
        for all in [&mut self.sources, &mut self.results, &mut self.addresses] {
            all.retain(|one| *one != register);
        }
    }
}

pub(super) fn add(to: &mut Vec<RegisterId>, register: RegisterId) {
    if !to.contains(&register) {
        to.push(register);
    }
}

/// True if a write leaves a part of the register as it was, so that it must be read.
fn keeps_rest(used: &UsedRegister) -> bool {
    let register = used.register();
    writes(used.access()) && (register.is_gpr8() || register.is_gpr16())
}

/// True if an operand that is read names the register itself.
fn is_read_operand(decoded: &Instruction, register: RegisterId) -> bool {
    let first_is_only_written = matches!(
        decoded.mnemonic(),
        Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd
    );
    (0..decoded.op_count())
        .filter(|at| !(first_is_only_written && *at == 0))
        .filter(|&at| decoded.op_kind(at) == OpKind::Register)
        .any(|at| RegisterId::of(decoded.op_register(at)) == Some(register))
}

pub(super) fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read
            | OpAccess::CondRead
            | OpAccess::ReadWrite
            | OpAccess::ReadCondWrite
            | OpAccess::CondWrite
    )
}

pub(super) fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn streams(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{
        Maskmovdqu, Maskmovq, Movntdq, Movnti, Movntpd, Movntps, Movntq, Movntsd, Movntss,
        Vmaskmovdqu, Vmovntdq, Vmovntpd, Vmovntps,
    };
    matches!(
        mnemonic,
        Maskmovdqu
            | Maskmovq
            | Movntdq
            | Movnti
            | Movntpd
            | Movntps
            | Movntq
            | Movntsd
            | Movntss
            | Vmaskmovdqu
            | Vmovntdq
            | Vmovntpd
            | Vmovntps
    )
}
