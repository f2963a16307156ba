//! Inspection of a block before it runs: what is not let run, and which registers it needs set.

use iced_x86::{
    CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use crate::BlockError;
use crate::layout::CODE;

/// The registers beyond the general-purpose ones and XMM that a block uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Uses {
    /// MMX registers; they hide the x87 ones.
    pub mmx: bool,
    /// Vectors of 32 bytes.
    pub ymm: bool,
    /// Vectors of 64 bytes, the upper sixteen vectors, or masks.
    pub zmm: bool,
}

/// Refuses instructions that leave user mode: the kernel, the hypervisor, another mode of the core.
pub(crate) fn inspect(code: &[u8]) -> Result<Uses, BlockError> {
    let mut uses = Uses::default();
    for instruction in Decoder::with_ip(64, code, CODE, DecoderOptions::NONE) {
        if let Some(what) = refusal(&instruction) {
            return Err(BlockError::Refused {
                instruction: format!("{:?}", instruction.mnemonic()).to_lowercase(),
                at: (instruction.ip() - CODE) as usize,
                what,
            });
        }
        for register in named_registers(&instruction) {
            uses.mmx |= register.is_mm();
            uses.ymm |= register.is_ymm();
            uses.zmm |= register.is_zmm()
                || register.is_k()
                || (register.is_vector_register() && register.number() >= 16);
        }
    }
    Ok(uses)
}

/// Registers that it names; that a write of a short vector clears the rest of the long one does not count.
fn named_registers(instruction: &Instruction) -> impl Iterator<Item = Register> {
    (0..instruction.op_count())
        .map(|index| instruction.op_register(index))
        .chain([instruction.op_mask(), instruction.memory_index()])
}

fn refusal(instruction: &Instruction) -> Option<&'static str> {
    use Mnemonic::{
        Call, Clui, Getsec, Iret, Iretd, Iretq, Jmp, Lds, Les, Lfs, Lgs, Lss, Mov, Pop, Ret, Retf,
        Senduipi, Stui, Syscall, Sysenter, Sysexit, Sysret, Uiret, Wrpkru,
    };
    let to_segment = instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_segment_register();
    let features = instruction.cpuid_features();
    let is_of = |feature| features.contains(&feature);
    match (instruction.mnemonic(), instruction.flow_control()) {
        (Syscall | Sysenter | Sysexit | Sysret, _) | (_, FlowControl::Interrupt) => {
            Some("asks the kernel")
        }
        (_, FlowControl::XbeginXabortXend) => Some("begins or ends a transaction"),
        (Retf | Iret | Iretd | Iretq | Uiret, _) => Some("returns to another mode"),
        (Jmp, _) if instruction.is_jmp_far() || instruction.is_jmp_far_indirect() => {
            Some("jumps to another segment")
        }
        (Call, _) if instruction.is_call_far() || instruction.is_call_far_indirect() => {
            Some("calls another segment")
        }
        (Mov | Pop, _) if to_segment => Some("loads a segment register"),
        (Lds | Les | Lfs | Lgs | Lss, _) => Some("loads a segment register"),
        (Wrpkru | Stui | Clui | Senduipi | Getsec, _) => Some("changes what the program may do"),
        (Ret, _) => None,
        _ if is_of(CpuidFeature::VMX) || is_of(CpuidFeature::SVM) => Some("asks the hypervisor"),
        _ if is_of(CpuidFeature::SGX1) => Some("enters an enclave"),
        _ if instruction.is_privileged() => Some("is privileged"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &[u8]) -> Option<(String, usize)> {
        match inspect(code) {
            Err(BlockError::Refused { instruction, at, .. }) => Some((instruction, at)),
            _ => None,
        }
    }

    #[test]
    fn what_asks_the_system_is_refused() {
        let cases: &[(&[u8], &str)] = &[
            (&[0x0f, 0x05], "syscall"),
            (&[0x0f, 0x34], "sysenter"),
            (&[0xcd, 0x80], "int"),
            (&[0xcc], "int3"),
            (&[0xf1], "int1"),
            (&[0xf4], "hlt"),
            (&[0x0f, 0x30], "wrmsr"),
            (&[0x0f, 0x01, 0xd9], "vmmcall"),
            (&[0x0f, 0x01, 0xc1], "vmcall"),
            (&[0x8e, 0xd0], "mov"),
            (&[0x0f, 0xa1], "pop"),
            (&[0xcb], "retf"),
            (&[0x48, 0xcf], "iretq"),
            (&[0xff, 0x28], "jmp"),
            (&[0xc7, 0xf8, 0, 0, 0, 0], "xbegin"),
            (&[0x0f, 0x01, 0xef], "wrpkru"),
        ];
        for (code, name) in cases {
            let prefixed: Vec<u8> = [&[0x90], *code].concat();
            assert_eq!(refused(&prefixed), Some(((*name).to_owned(), 1)), "{code:02x?}");
        }
        for code in [&[0xc3][..], &[0x8e], &[0x8c, 0xd8], &[0xff, 0x10], &[0x90]] {
            assert_eq!(refused(code), None, "{code:02x?}");
        }
    }

    #[test]
    fn registers_are_set_as_wide_as_they_are_used() {
        let uses = |code| inspect(code).unwrap();
        let none = Uses::default();
        // addps xmm0, xmm1
        assert_eq!(uses(&[0x0f, 0x58, 0xc1]), none);
        // paddd mm0, mm1
        assert_eq!(uses(&[0x0f, 0xfe, 0xc1]), Uses { mmx: true, ..none });
        // vaddps ymm0, ymm1, ymm2
        assert_eq!(uses(&[0xc5, 0xf4, 0x58, 0xc2]), Uses { ymm: true, ..none });
        // vaddps zmm0, zmm1, zmm2
        assert_eq!(uses(&[0x62, 0xf1, 0x74, 0x48, 0x58, 0xc2]), Uses { zmm: true, ..none });
        // vaddps xmm16, xmm1, xmm2
        assert_eq!(uses(&[0x62, 0xe1, 0x74, 0x08, 0x58, 0xc2]), Uses { zmm: true, ..none });
    }
}
