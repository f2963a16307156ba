//! Addresses of an instruction's operands, from the registers before it.

use iced_x86::{CodeSize, Instruction as Decoded, Mnemonic, OpKind, Register, UsedMemory};
use libc::user_regs_struct;
use nix::unistd::Pid;

use super::vectors::Vectors;
use crate::{Form, MemoryOperand};

/// String instructions go downwards.
const DIRECTION_FLAG: u64 = 1 << 10;

/// Parts of an operand's addresses.
#[derive(Debug)]
pub(super) enum Place {
    Single(UsedMemory),
    /// The bit in this register, counted from the operand, may lie outside of it.
    Bit(UsedMemory, Register),
    Repeated(UsedMemory),
    Lanes {
        memory: UsedMemory,
        /// As many as both the index and the data have room for.
        lanes: usize,
        mask: Mask,
    },
}

/// Which lanes of a gather or scatter touch memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mask {
    /// Those whose element in the vector register, of so many bytes, is negative.
    Signs(usize, usize),
    /// Those whose bit in the mask register is set.
    Bits(usize),
}

impl Place {
    /// The place of one of the instruction's operands.
    pub(super) fn of(decoded: &Decoded, operand: MemoryOperand, memory: UsedMemory) -> Self {
        match operand.form {
            Form::Repeated => Self::Repeated(memory),
            Form::Lanes => Self::lanes(decoded, operand, memory),
            Form::Single => match decoded.mnemonic() {
                Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
                    if decoded.op1_kind() == OpKind::Register =>
                {
                    Self::Bit(memory, decoded.op1_register())
                }
                _ => Self::Single(memory),
            },
        }
    }

    /// True if its address is one of 32 bits.
    pub(super) fn is_short(&self) -> bool {
        let (Self::Single(memory)
        | Self::Bit(memory, _)
        | Self::Repeated(memory)
        | Self::Lanes { memory, .. }) = self;
        memory.address_size() == CodeSize::Code32
    }

    fn lanes(decoded: &Decoded, operand: MemoryOperand, memory: UsedMemory) -> Self {
        let size = usize::from(operand.size);
        let mut vectors = (0..decoded.op_count())
            .filter(|&index| decoded.op_kind(index) == OpKind::Register)
            .map(|index| decoded.op_register(index));
        // Prefetching gathers have no data; they exist for the longest vectors only.
        let data = vectors.next().map_or(64, iced_x86::Register::size);
        let mask = match (decoded.op_mask(), vectors.next()) {
            (Register::None, Some(register)) => Mask::Signs(register.number(), size),
            (mask, _) => Mask::Bits(mask.number()),
        };
        let indices = memory.index().size() / memory.vsib_size().max(1) as usize;
        Self::Lanes { memory, lanes: indices.min(data / size), mask }
    }

    /// Appends the values that a trace holds for the operand; of a repeated one, for no iterations.
    pub(super) fn values(
        &self,
        thread: Pid,
        registers: &user_regs_struct,
        values: &mut Vec<u64>,
    ) -> nix::Result<()> {
        match self {
            Self::Single(memory) => values.push(address(memory, registers)),
            Self::Bit(memory, offset) => values.push(bit_address(memory, *offset, registers)),
            Self::Repeated(memory) => {
                let falls = registers.eflags & DIRECTION_FLAG != 0;
                values.extend([u64::from(falls), address(memory, registers)]);
            }
            Self::Lanes { memory, lanes, mask } => {
                let vectors = Vectors::of(thread)?;
                let touched = (0..*lanes).filter(|&lane| match *mask {
                    Mask::Signs(register, size) => vectors.element(register, lane, size) < 0,
                    Mask::Bits(register) => vectors.mask(register) >> lane & 1 == 1,
                });
                let addresses = touched.map(|lane| {
                    let value = |register: Register, element, size| {
                        Some(if register.is_vector_register() {
                            vectors.element(register.number(), element, size).cast_unsigned()
                        } else {
                            general(registers, register)
                        })
                    };
                    memory.virtual_address(lane, value).unwrap_or(0)
                });
                let count = values.len();
                values.push(0);
                values.extend(addresses);
                values[count] = (values.len() - count - 1) as u64;
            }
        }
        Ok(())
    }
}

fn address(memory: &UsedMemory, registers: &user_regs_struct) -> u64 {
    let value = |register, _, _| Some(general(registers, register));
    memory.virtual_address(0, value).unwrap_or(0)
}

/// Intel, Software Developer's Manual, volume 2, BT: the operand at the distance of as many whole
/// operands as the bit is away, downwards too.
fn bit_address(memory: &UsedMemory, offset: Register, registers: &user_regs_struct) -> u64 {
    let size = offset.size();
    let unused = 64 - 8 * size as u32;
    let bit = (general(registers, offset) << unused).cast_signed() >> unused;
    let operands = bit.div_euclid(8 * size as i64);
    let away = (operands * size as i64).cast_unsigned();
    let moved = UsedMemory::new2(
        memory.segment(),
        memory.base(),
        memory.index(),
        memory.scale(),
        memory.displacement().wrapping_add(away),
        memory.memory_size(),
        memory.access(),
        memory.address_size(),
        memory.vsib_size(),
    );
    address(&moved, registers)
}

/// Value of a register that an address is made of; a segment register, its base.
fn general(registers: &user_regs_struct, register: Register) -> u64 {
    let whole = match register.full_register() {
        Register::RAX => registers.rax,
        Register::RCX => registers.rcx,
        Register::RDX => registers.rdx,
        Register::RBX => registers.rbx,
        Register::RSP => registers.rsp,
        Register::RBP => registers.rbp,
        Register::RSI => registers.rsi,
        Register::RDI => registers.rdi,
        Register::R8 => registers.r8,
        Register::R9 => registers.r9,
        Register::R10 => registers.r10,
        Register::R11 => registers.r11,
        Register::R12 => registers.r12,
        Register::R13 => registers.r13,
        Register::R14 => registers.r14,
        Register::R15 => registers.r15,
        Register::FS => return registers.fs_base,
        Register::GS => return registers.gs_base,
        // The other segments begin at 0 in 64-bit mode.
        _ => return 0,
    };
    whole & u64::MAX >> (64 - 8 * register.size())
}
