//! One instruction at a time for others than the tracer: what it touches in a stopped thread.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
use libc::user_regs_struct;
use nix::unistd::Pid;

use super::code::{Code, Kind};
use crate::NotCode;

/// An instruction where it lies, with what the addresses of its operands are made of.
#[derive(Debug)]
pub struct Step {
    code: Code,
}

impl Step {
    /// The instructions that are exactly these bytes at this address.
    ///
    /// # Errors
    /// If they are not whole instructions.
    pub fn decode(address: u64, bytes: &[u8]) -> Result<Vec<Self>, NotCode> {
        let mut factory = InstructionInfoFactory::new();
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let mut steps = Vec::new();
        while decoder.can_decode() {
            let at = decoder.position();
            let decoded = decoder.decode();
            if decoded.is_invalid() {
                return Err(NotCode { address, at });
            }
            steps.push(Self { code: Code::of(&decoded, &bytes[at..], &mut factory) });
        }
        Ok(steps)
    }

    /// Address of the instruction.
    pub fn address(&self) -> u64 {
        self.code.address
    }

    /// Address of the next one.
    pub fn end(&self) -> u64 {
        self.code.address + self.code.bytes.len() as u64
    }

    /// True if one step may do a part of it only: an iteration, or some lanes.
    pub fn may_take_several_steps(&self) -> bool {
        matches!(self.code.kind, Kind::Repeated | Kind::Lanes)
    }

    /// True if it stores the flags, with the one among them that stepping sets.
    pub fn pushes_flags(&self) -> bool {
        self.code.kind == Kind::PushFlags
    }

    /// Appends what a trace holds for its operands, given the registers of a stopped thread that is
    /// about to execute it; for a repeated instruction, for no iterations.
    ///
    /// # Errors
    /// If the thread's vector registers are needed and cannot be read.
    pub fn values(
        &self,
        thread: Pid,
        registers: &user_regs_struct,
        values: &mut Vec<u64>,
    ) -> nix::Result<()> {
        self.code.operands.iter().try_for_each(|(_, place)| place.values(thread, registers, values))
    }

    /// Puts the iterations of a repeated instruction into its own `values`, from RCX before and after.
    pub fn finish(&self, values: &mut [u64], before: u64, after: u64) {
        if self.code.kind == Kind::Repeated {
            self.code.put_iterations(values, self.code.iterations(before, after));
        }
    }
}
