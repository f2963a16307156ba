//! The instruction that a thread is about to execute, decoded once for as long as its bytes stay.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::rc::Rc;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction as Decoded, InstructionInfoFactory, Mnemonic,
};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use super::addresses::Place;
use crate::operands::{is_atomic, memory_operands};
use crate::{Form, Instruction, MemoryOperand};

/// The longest instruction, in bytes.
const LONGEST: usize = 15;

/// An instruction where it lies.
#[derive(Debug)]
pub(super) struct Code {
    pub address: u64,
    pub bytes: Vec<u8>,
    /// In the order that traces hold them.
    pub operands: Vec<(MemoryOperand, Place)>,
    pub kind: Kind,
    /// True if another place than the next may follow.
    pub branches: bool,
    pub is_atomic: bool,
}

/// Kind of an instruction for stepping over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// Stops after each iteration.
    Repeated,
    /// May stop between lanes, where a page was not there.
    Lanes,
    /// Asks the kernel.
    SystemCall,
    /// Says that the thread waits for another one.
    Pause,
    /// Shows the trap flag, which stepping sets.
    PushFlags,
}

impl Code {
    /// As a block describes it.
    pub(super) fn instruction(&self) -> Instruction {
        Instruction { length: self.bytes.len() as u8, operands: self.operands.len() as u8 }
    }

    /// True if a repeated instruction counts in ECX, as its addresses are of 32 bits.
    fn counts_in_32_bits(&self) -> bool {
        self.operands.iter().any(|(_, place)| place.is_short())
    }

    /// The iterations of a repeated instruction, from RCX before and after them.
    pub(super) fn iterations(&self, before: u64, after: u64) -> u64 {
        let count = before.wrapping_sub(after);
        if self.counts_in_32_bits() { count & u64::from(u32::MAX) } else { count }
    }

    /// Puts them into the values of its operands.
    pub(super) fn put_iterations(&self, values: &mut [u64], iterations: u64) {
        values.iter_mut().step_by(2).for_each(|falls| *falls |= iterations << 1);
    }

    /// The instruction that `bytes` begin with.
    pub(super) fn of(
        decoded: &Decoded,
        bytes: &[u8],
        factory: &mut InstructionInfoFactory,
    ) -> Self {
        let operands: Vec<_> = memory_operands(decoded, factory)
            .into_iter()
            .map(|(operand, memory)| (operand, Place::of(decoded, operand, memory)))
            .collect();
        let kind = match decoded.mnemonic() {
            Mnemonic::Syscall | Mnemonic::Sysenter => Kind::SystemCall,
            Mnemonic::Int if decoded.immediate8() == 0x80 => Kind::SystemCall,
            Mnemonic::Pause => Kind::Pause,
            Mnemonic::Pushf | Mnemonic::Pushfq => Kind::PushFlags,
            _ => match operands.first().map(|(operand, _)| operand.form) {
                Some(Form::Repeated) => Kind::Repeated,
                Some(Form::Lanes) => Kind::Lanes,
                _ => Kind::Plain,
            },
        };
        Self {
            address: decoded.ip(),
            bytes: bytes[..decoded.len()].to_owned(),
            operands,
            kind,
            branches: decoded.flow_control() != FlowControl::Next,
            is_atomic: is_atomic(decoded),
        }
    }
}

/// Decoded instructions, by address.
pub(super) struct CodeCache {
    process: Pid,
    known: HashMap<u64, Rc<Code>>,
    factory: InstructionInfoFactory,
}

impl CodeCache {
    pub(super) fn new(process: Pid) -> Self {
        Self { process, known: HashMap::new(), factory: InstructionInfoFactory::new() }
    }

    /// The instruction at an address as it is there now; `None` if there is none that is known.
    pub(super) fn at(&mut self, address: u64) -> Option<Rc<Code>> {
        let mut bytes = [0; LONGEST];
        let bytes = read(self.process, address, &mut bytes);
        if let Some(code) = self.known.get(&address)
            && bytes.starts_with(&code.bytes)
        {
            return Some(Rc::clone(code));
        }
        let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        if decoded.is_invalid() {
            return None;
        }
        let code = Rc::new(Code::of(&decoded, bytes, &mut self.factory));
        self.known.insert(address, Rc::clone(&code));
        Some(code)
    }
}

/// Bytes that can be read there, up to the length of the buffer: code may end with its page.
fn read(process: Pid, address: u64, buffer: &mut [u8]) -> &[u8] {
    let to_page = 4096 - address as usize % 4096;
    // A transfer that fails in the middle ends with the part before.
    let parts = [
        RemoteIoVec { base: address as usize, len: to_page.min(buffer.len()) },
        RemoteIoVec {
            base: (address as usize).wrapping_add(to_page),
            len: buffer.len().saturating_sub(to_page),
        },
    ];
    let parts = if parts[1].len == 0 { &parts[..1] } else { &parts[..] };
    let length = process_vm_readv(process, &mut [IoSliceMut::new(buffer)], parts).unwrap_or(0);
    &buffer[..length]
}
