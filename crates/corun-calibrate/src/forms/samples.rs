//! One sample of each form of instruction that 64-bit code has and a program may execute.
//!
//! All operation codes are tried with each prefix, operand size and vector length, with registers and with
//! memory. What is privileged, leaves the straight line, or changes what other code relies on is left out.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::LazyLock;

use corun_model::timing::form;
use iced_x86::{
    CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

/// By the name that timing tables have.
pub(super) static SAMPLES: LazyLock<BTreeMap<String, Instruction>> = LazyLock::new(|| {
    let mut samples = Samples::default();
    samples.legacy();
    samples.addresses();
    samples.vex();
    samples.evex();
    samples.found
});

/// Bytes behind the operands: an immediate of 3, and what follows it.
const TAIL: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[derive(Default)]
struct Samples {
    found: BTreeMap<String, Instruction>,
}

impl Samples {
    /// Tries an operation code with operands of each kind.
    fn with_operands(&mut self, code: &[u8]) {
        for reg in [1u8, 3, 0, 4, 5, 6, 7, 2] {
            // With registers; with memory at RSI; at RSI + XMM3, for gathers.
            self.add(code, &[0xc2 | reg << 3]);
            self.add(code, &[reg << 3 | 6]);
            self.add(code, &[reg << 3 | 4, 0x1e]);
        }
        // x87 instructions have their operation in what are operands elsewhere.
        if matches!(code.last(), Some(0xd8..=0xdf)) {
            for operands in 0xc0..=0xffu8 {
                self.add(code, &[operands]);
            }
        }
    }

    fn add(&mut self, code: &[u8], operands: &[u8]) {
        let mut bytes = [0; 15];
        let all = code.iter().chain(operands).chain(&TAIL);
        for (to, from) in bytes.iter_mut().zip(all) {
            *to = *from;
        }
        let mut decoder = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() || !may_run(&instruction) || !is_plain(&instruction) {
            return;
        }
        match self.found.entry(form(&instruction)) {
            Entry::Vacant(entry) => {
                entry.insert(instruction);
            }
            // An encoding for the accumulator alone says less than one for any register.
            Entry::Occupied(mut entry) => {
                if begins_with_first(entry.get()) && !begins_with_first(&instruction) {
                    entry.insert(instruction);
                }
            }
        }
    }

    fn legacy(&mut self) {
        let prefixes: [&[u8]; 7] =
            [&[], &[0x66], &[0xf3], &[0xf2], &[0xf0], &[0x66, 0xf0], &[0x66, 0xf2]];
        let maps: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
        for prefix in prefixes {
            for wide in [&[][..], &[0x48]] {
                for map in maps {
                    for code in 0..=0xffu8 {
                        if map.is_empty() && is_prefix(code) || map == [0x0f] && code == 0x0f {
                            continue;
                        }
                        self.with_operands(&[prefix, wide, map, &[code]].concat());
                    }
                }
            }
        }
    }

    /// Each way to compute an address.
    fn addresses(&mut self) {
        let operands: [&[u8]; 9] = [
            &[0x0e],                   // base
            &[0x4e, 5],                // base, displacement
            &[0x0c, 0x1e],             // base, index
            &[0x0c, 0x9e],             // base, scaled index
            &[0x4c, 0x1e, 5],          // base, index, displacement
            &[0x4c, 0x9e, 5],          // base, scaled index, displacement
            &[0x0c, 0x9d, 5, 5, 5, 0], // scaled index, displacement
            &[0x0c, 0x25, 5, 5, 5, 0], // displacement
            &[0x0d, 5, 5, 5, 0],       // instruction pointer
        ];
        for prefix in [&[0x66u8][..], &[], &[0x48]] {
            for operands in operands {
                self.add(&[prefix, &[0x8d]].concat(), operands);
            }
        }
    }

    fn vex(&mut self) {
        for map in 1..=3u8 {
            for last in 0..=0xffu8 {
                // Bits: W, source register 5 or none (inverted), length, prefix.
                if !matches!(last >> 3 & 15, 0b1010 | 0b1111) {
                    continue;
                }
                for code in 0..=0xffu8 {
                    self.with_operands(&[0xc4, 0xe0 | map, last, code]);
                }
            }
        }
    }

    fn evex(&mut self) {
        for map in [1u8, 2, 3, 5, 6] {
            for second in 0..=0xffu8 {
                // Bits: W, source register 5 or none (inverted), one, prefix.
                if !matches!(second >> 3 & 15, 0b1010 | 0b1111) || second & 4 == 0 {
                    continue;
                }
                // Three lengths, without and with a mask. What is broadcast takes the time of what is not.
                for third in [0x08u8, 0x28, 0x48, 0x09, 0x29, 0x49] {
                    for code in 0..=0xffu8 {
                        self.with_operands(&[0x62, 0xf0 | map, second, third, code]);
                    }
                }
            }
        }
    }
}

/// Prefixes, and the first bytes of other maps.
fn is_prefix(code: u8) -> bool {
    matches!(
        code,
        0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x62 | 0x64..=0x67 | 0xc4 | 0xc5 | 0xf0 | 0xf2 | 0xf3
    )
}

fn registers(instruction: &Instruction) -> impl Iterator<Item = Register> {
    (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
}

fn begins_with_first(instruction: &Instruction) -> bool {
    instruction.op_kind(0) == OpKind::Register && instruction.op0_register().number() == 0
}

/// Whether all registers are distinct and none is the high byte of another.
fn is_plain(instruction: &Instruction) -> bool {
    let is_high = |register: Register| {
        matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
    };
    let all: Vec<Register> = registers(instruction).collect();
    let is_again = |(place, register): (usize, &Register)| {
        all[..place].iter().any(|other| other.full_register() == register.full_register())
    };
    !all.iter().copied().any(is_high) && !all.iter().enumerate().any(is_again)
}

/// Whether the process that executes it goes on as before, but for registers and its own memory.
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
    let asks_somebody = matches!(
        instruction.mnemonic(),
        // The kernel, the hypervisor (which CPUID, XGETBV and SGDT may ask), or nobody for a while.
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
        && !asks_somebody
        && !changes_what_others_need
        && !names_others
        && !instruction.cpuid_features().iter().any(is_of)
}
