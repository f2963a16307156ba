//! The kinds of branch that predictors distinguish.

use iced_x86::{FlowControl, Instruction as Decoded};

/// Kind of branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BranchKind {
    /// Always, to a place that the code names.
    Jump,
    /// Always, to a place from a register or from memory.
    IndirectJump,
    /// Or goes on with the next instruction.
    Conditional,
    /// To a function that the code names.
    Call,
    /// To a function from a register or from memory.
    IndirectCall,
    /// To where the last call came from.
    Return,
    /// In a way that is none of these.
    Other,
}

impl BranchKind {
    /// The kind of a decoded instruction, if it is a branch of the program. A system call is none:
    /// for the program it goes on with the next instruction.
    pub fn of(decoded: &Decoded) -> Option<Self> {
        match decoded.flow_control() {
            FlowControl::UnconditionalBranch => Some(Self::Jump),
            FlowControl::IndirectBranch => Some(Self::IndirectJump),
            FlowControl::ConditionalBranch => Some(Self::Conditional),
            FlowControl::Call if decoded.is_call_near() || decoded.is_call_far() => {
                Some(Self::Call)
            }
            FlowControl::IndirectCall => Some(Self::IndirectCall),
            FlowControl::Return => Some(Self::Return),
            FlowControl::Call
            | FlowControl::Next
            | FlowControl::Interrupt
            | FlowControl::XbeginXabortXend
            | FlowControl::Exception => None,
        }
    }

    /// True if it needs no condition to leave the straight line.
    pub fn is_always_taken(self) -> bool {
        !matches!(self, Self::Conditional | Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    #[test]
    fn every_kind_is_known() {
        use BranchKind::{Call, Conditional, IndirectCall, IndirectJump, Jump, Return};
        let cases: &[(&str, &[u8], Option<BranchKind>)] = &[
            ("jmp 2", &[0xeb, 0x00], Some(Jump)),
            ("jmp rax", &[0xff, 0xe0], Some(IndirectJump)),
            ("jmp [rip]", &[0xff, 0x25, 0, 0, 0, 0], Some(IndirectJump)),
            ("je 2", &[0x74, 0x00], Some(Conditional)),
            ("jrcxz 2", &[0xe3, 0x00], Some(Conditional)),
            ("loop 2", &[0xe2, 0x00], Some(Conditional)),
            ("call 5", &[0xe8, 0, 0, 0, 0], Some(Call)),
            ("call rax", &[0xff, 0xd0], Some(IndirectCall)),
            ("ret", &[0xc3], Some(Return)),
            ("syscall", &[0x0f, 0x05], None),
            ("xbegin 6", &[0xc7, 0xf8, 0, 0, 0, 0], None),
            ("ud2", &[0x0f, 0x0b], None),
            ("rep movsb", &[0xf3, 0xa4], None),
        ];
        for (text, code, expected) in cases {
            let decoded = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
            assert_eq!(BranchKind::of(&decoded), *expected, "{text}");
        }
    }
}
