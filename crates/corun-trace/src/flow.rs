//! Control flow: the end of a block, and the blocks that may follow it.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use crate::{Block, BranchKind, ChampSimInstruction, Code};

/// The end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The kind of its last instruction, if that is a branch.
    pub branch: Option<BranchKind>,
    /// The address after the block.
    pub next: u64,
    leads: Leads,
}

/// Successors of a block; targets are addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    /// Behind itself: it was merely cut.
    Next,
    NextOr(u64),
    To(u64),
    /// A target from a register or memory, a system call, a trap, or what is no code of this
    /// architecture.
    Anywhere,
}

impl Exit {
    pub(crate) fn of(block: &Block) -> Self {
        let next = block.end();
        let length = block.instructions.last().map_or(0, |last| usize::from(last.length));
        let (branch, leads) = match &block.code {
            Code::Bytes(bytes) => {
                let code = &bytes[bytes.len() - length..];
                let address = next.wrapping_sub(length as u64);
                let decoded = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
                let branch = BranchKind::of(&decoded);
                (branch, leads(&decoded, branch))
            }
            Code::ChampSim(champsim) => {
                let last = champsim.last();
                let goes_on = length > 0 && last.is_some_and(|last| !last.branch);
                let leads = if goes_on { Leads::Next } else { Leads::Anywhere };
                (last.and_then(ChampSimInstruction::branch_kind), leads)
            }
        };
        Self { branch, next, leads }
    }

    /// True if a block at this address may follow.
    pub(crate) fn allows(&self, address: u64) -> bool {
        match self.leads {
            Leads::Next => address == self.next,
            Leads::NextOr(target) => address == self.next || address == target,
            Leads::To(target) => address == target,
            Leads::Anywhere => true,
        }
    }
}

fn leads(decoded: &Instruction, branch: Option<BranchKind>) -> Leads {
    let target = decoded.near_branch_target();
    let is_near = matches!(
        decoded.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    match branch {
        _ if decoded.is_invalid() => Leads::Anywhere,
        None if decoded.flow_control() == FlowControl::Next => Leads::Next,
        Some(BranchKind::Conditional) => Leads::NextOr(target),
        Some(BranchKind::Jump | BranchKind::Call) if is_near => Leads::To(target),
        _ => Leads::Anywhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn every_kind_of_end_is_known() {
        use BranchKind::{Call, Conditional, IndirectCall, IndirectJump, Jump, Return};
        let cases: [(&[u8], Option<BranchKind>, Leads); 8] = [
            (&[0x90], None, Leads::Next),
            (&[0x90, 0x74, 0xfd], Some(Conditional), Leads::NextOr(0x1000)),
            (&[0xeb, 0x0e], Some(Jump), Leads::To(0x1010)),
            (&[0xff, 0xe0], Some(IndirectJump), Leads::Anywhere),
            (&[0xe8, 0, 0, 0, 0], Some(Call), Leads::To(0x1005)),
            (&[0xff, 0x10], Some(IndirectCall), Leads::Anywhere),
            (&[0xc3], Some(Return), Leads::Anywhere),
            (&[0x0f, 0x05], None, Leads::Anywhere),
        ];
        for (code, branch, leads) in cases {
            let exit = Exit::of(&decode(0x1000, code).unwrap());
            let next = 0x1000 + code.len() as u64;
            assert_eq!(exit, Exit { branch, next, leads }, "{code:x?}");
        }
    }
}
