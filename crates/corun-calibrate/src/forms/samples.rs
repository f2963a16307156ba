//! One sample of each form of instruction that 64-bit code has and a program may execute.
//!
//! Instructions that are privileged, that branch, or that change state which other code relies on are left out.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::LazyLock;

use corun_model::encodings::{Effort, TAIL, decode_sample, each_encoding};
use corun_model::timing::form;
use iced_x86::{CpuidFeature, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// The samples, by the names of forms in timing tables.
pub(super) static SAMPLES: LazyLock<BTreeMap<String, Instruction>> = LazyLock::new(|| {
    let mut samples = BTreeMap::new();
    each_encoding(Effort::Samples, |encoding| {
        let sample = decode_sample(encoding, &IMMEDIATE);
        if let Some((instruction, _)) = sample.filter(|(sample, _)| may_run(sample)) {
            add(&mut samples, instruction);
        }
    });
    samples
});

/// An immediate of 3, and padding.
const IMMEDIATE: [u8; TAIL] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Keeps the first sample of a form, but prefers an encoding for any register to one for the accumulator alone.
fn add(samples: &mut BTreeMap<String, Instruction>, instruction: Instruction) {
    match samples.entry(form(&instruction)) {
        Entry::Vacant(entry) => {
            entry.insert(instruction);
        }
        Entry::Occupied(mut entry) => {
            if begins_with_first(entry.get()) && !begins_with_first(&instruction) {
                entry.insert(instruction);
            }
        }
    }
}

fn registers(instruction: &Instruction) -> impl Iterator<Item = Register> {
    (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
}

fn begins_with_first(instruction: &Instruction) -> bool {
    instruction.op_kind(0) == OpKind::Register && instruction.op0_register().number() == 0
}

/// True if the process that executes it goes on as before, but for registers and its own memory.
fn may_run(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Clui, Cpuid, Enter, Fldcw, Fldenv, Frstor, Fxrstor, Fxrstor64, Getsec, Invlpga, Ldmxcsr,
        Lds, Leave, Les, Lfs, Lgs, Lss, Monitor, Monitorx, Mwait, Mwaitx, Pause, Pop, Popf, Popfd,
        Popfq, Push, Pushf, Pushfd, Pushfq, Rdfsbase, Rdgsbase, Rdpmc, Senduipi, Sgdt, Sidt,
        Skinit, Sldt, Smsw, Std, Str, Stui, Swapgs, Syscall, Sysenter, Sysexit, Sysret, Tpause,
        Umonitor, Umwait, Vldmxcsr, Vmcall, Vmgexit, Vmmcall, Wrfsbase, Wrgsbase, Wrpkru, Xabort,
        Xgetbv, Xrstor, Xrstor64, Xsetbv,
    };
    use iced_x86::CpuidFeature::{
        AMX_BF16, AMX_INT8, AMX_TILE, CET_IBT, CET_SS, ENQCMD, HRESET, MPX, PADLOCK_ACE, SGX1, SVM,
        TDX, UDBG, UINTR, VMX,
    };
    let is_of = |feature: &CpuidFeature| {
        matches!(
            feature,
            AMX_BF16
                | AMX_INT8
                | AMX_TILE
                | CET_IBT
                | CET_SS
                | ENQCMD
                | HRESET
                | MPX
                | PADLOCK_ACE
                | SGX1
                | SVM
                | TDX
                | UDBG
                | UINTR
                | VMX
        )
    };
    let asks_the_system = matches!(
        instruction.mnemonic(),
        // The kernel, the hypervisor (which CPUID, XGETBV and SGDT may ask), or waiting.
        Cpuid
            | Getsec
            | Invlpga
            | Monitor
            | Monitorx
            | Mwait
            | Pause
            | Sgdt
            | Sidt
            | Sldt
            | Smsw
            | Str
            | Mwaitx
            | Rdpmc
            | Skinit
            | Swapgs
            | Syscall
            | Sysenter
            | Sysexit
            | Sysret
            | Tpause
            | Umonitor
            | Umwait
            | Vmcall
            | Vmgexit
            | Vmmcall
            | Xabort
            | Xgetbv
            | Xsetbv
    );
    let changes_what_others_need = matches!(
        instruction.mnemonic(),
        // Stack, segments, direction, modes of arithmetic.
        Clui | Enter
            | Fldcw
            | Fldenv
            | Frstor
            | Fxrstor
            | Fxrstor64
            | Lds
            | Ldmxcsr
            | Leave
            | Les
            | Lfs
            | Lgs
            | Lss
            | Pop
            | Popf
            | Popfd
            | Popfq
            | Push
            | Pushf
            | Pushfd
            | Pushfq
            | Rdfsbase
            | Rdgsbase
            | Senduipi
            | Std
            | Stui
            | Vldmxcsr
            | Wrfsbase
            | Wrgsbase
            | Wrpkru
            | Xrstor
            | Xrstor64
    );
    let names_others = registers(instruction).any(|register| {
        register.is_segment_register() || register.is_cr() || register.is_dr() || register.is_tmm()
    });
    instruction.flow_control() == FlowControl::Next
        && !instruction.is_privileged()
        && !(instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix()))
        && !asks_the_system
        && !changes_what_others_need
        && !names_others
        && !instruction.cpuid_features().iter().any(is_of)
}
