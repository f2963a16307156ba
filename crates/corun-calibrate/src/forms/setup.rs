//! Setup: the code and register contents that a form needs before its loop.

use iced_x86::{Code, Instruction, InstructionInfoFactory, Register};

use super::Form;
use super::operands::Bank;
use crate::assembly::encode;

impl Form {
    /// Code that runs once, before the loop.
    pub(crate) fn setup(&self) -> Vec<u8> {
        let mut code = Vec::new();
        let is_legacy = self.sample.encoding() == iced_x86::EncodingKind::Legacy;
        if is_legacy && has_avx() && self.operands.iter().any(|it| it.first == Register::XMM0) {
            // vzeroupper: what keeps the upper half of a register takes longer.
            code.extend([0xc5, 0xf8, 0x77]);
        }
        let x87 =
            self.operands.iter().any(|it| it.bank == Some(Bank::X87)) || self.name.starts_with('f');
        if x87 {
            // fninit, then numbers, and room for two more
            code.extend([0xdb, 0xe3]);
            code.extend([0xd9, 0xe8].repeat(6));
        }
        if self.sample.op_mask() != Register::None
            || self.operands.iter().any(|it| it.bank == Some(Bank::Mask))
        {
            for number in 0..8 {
                let mask = Register::K0 + number;
                if let Ok(ones) = Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, mask, mask, mask) {
                    code.extend(encode(&ones));
                }
            }
        }
        if self.gathers() {
            // vpxor xmm13, xmm13, xmm13
            code.extend([0xc4, 0x41, 0x11, 0xef, 0xed]);
        }
        // Memory without a name lies where the other does.
        let mut factory = InstructionInfoFactory::new();
        for memory in factory.info(&self.sample).used_memory() {
            let base = memory.base();
            if base.is_gpr64() && !self.has_memory() && !self.is_address() {
                code.extend(encode(&crate::code::copy(base, Register::R14)));
            }
        }
        if self.mnemonic().starts_with("xlat") {
            // xor eax, eax
            code.extend([0x31, 0xc0]);
        }
        code
    }

    /// Value of 8 bytes of vector registers: numbers that neither grow nor vanish.
    pub(crate) fn vector(&self) -> u64 {
        const DOUBLE: u64 = 0x3ff0_0000_1234_5678;
        let name = self.mnemonic();
        if name.ends_with("sd")
            || name.ends_with("pd")
            || name.contains("cvtsd")
            || name.contains("cvtpd")
        {
            DOUBLE
        } else {
            crate::routine::ONES
        }
    }
}

/// True if this host knows the upper halves of vector registers.
fn has_avx() -> bool {
    #[cfg(target_arch = "x86_64")]
    let found = std::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    let found = false;
    found
}
