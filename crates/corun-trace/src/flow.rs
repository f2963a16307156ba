//! How a block ends, and so which blocks may follow it.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use crate::Block;

/// The end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub kind: ExitKind,
    /// The address behind the block.
    pub next: u64,
}

/// What the last instruction does; targets are addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// No branch: the block was merely cut.
    Next,
    Conditional(u64),
    Jump(u64),
    IndirectJump,
    Call(u64),
    IndirectCall,
    Return,
    /// A system call, a trap, or what is no code of this architecture.
    Other,
}

impl Exit {
    pub(crate) fn of(block: &Block) -> Self {
        let next = block.address.wrapping_add(block.bytes.len() as u64);
        let length = block.instructions.last().map_or(0, |last| usize::from(last.length));
        let start = block.bytes.len() - length;
        let address = block.address.wrapping_add(start as u64);
        let decoded =
            Decoder::with_ip(64, &block.bytes[start..], address, DecoderOptions::NONE).decode();
        Self { kind: kind(&decoded), next }
    }

    /// Whether a block at this address may follow.
    pub(crate) fn allows(&self, address: u64) -> bool {
        match self.kind {
            ExitKind::Next => address == self.next,
            ExitKind::Conditional(target) => address == self.next || address == target,
            ExitKind::Jump(target) | ExitKind::Call(target) => address == target,
            _ => true,
        }
    }
}

fn kind(decoded: &Instruction) -> ExitKind {
    let target = decoded.near_branch_target();
    let is_near = matches!(
        decoded.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    match decoded.flow_control() {
        _ if decoded.is_invalid() => ExitKind::Other,
        FlowControl::Next => ExitKind::Next,
        FlowControl::ConditionalBranch => ExitKind::Conditional(target),
        FlowControl::UnconditionalBranch if is_near => ExitKind::Jump(target),
        FlowControl::IndirectBranch => ExitKind::IndirectJump,
        FlowControl::Call if is_near => ExitKind::Call(target),
        FlowControl::IndirectCall => ExitKind::IndirectCall,
        FlowControl::Return => ExitKind::Return,
        _ => ExitKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn every_kind_of_end_is_told() {
        let cases: [(&[u8], ExitKind); 8] = [
            (&[0x90], ExitKind::Next),
            (&[0x90, 0x74, 0xfd], ExitKind::Conditional(0x1000)),
            (&[0xeb, 0x0e], ExitKind::Jump(0x1010)),
            (&[0xff, 0xe0], ExitKind::IndirectJump),
            (&[0xe8, 0, 0, 0, 0], ExitKind::Call(0x1005)),
            (&[0xff, 0x10], ExitKind::IndirectCall),
            (&[0xc3], ExitKind::Return),
            (&[0x0f, 0x05], ExitKind::Other),
        ];
        for (code, kind) in cases {
            let exit = Exit::of(&decode(0x1000, code).unwrap());
            assert_eq!(exit, Exit { kind, next: 0x1000 + code.len() as u64 }, "{code:x?}");
        }
    }
}
