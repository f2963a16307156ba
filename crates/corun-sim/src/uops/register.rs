//! Registers as dependencies: one number each, whatever part of it an instruction names.

use iced_x86::{Register, RflagsBits};

/// A register that micro-ops wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RegisterId(pub u8);

/// More than there are: a power of two, so that every number has its place.
pub(crate) const REGISTERS: usize = 128;

const VECTORS: u8 = 16;
const MASKS: u8 = 48;
const STACK: u8 = 56;
/// The carry, the overflow, and the others are renamed apart from each other.
const CARRY: u8 = 64;
const OVERFLOW: u8 = 65;
const OTHERS: u8 = 66;

/// Register file: registers that are renamed together and take its physical registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    Integer,
    Vector,
    Mask,
    Flags,
}

impl RegisterId {
    /// The stack pointer.
    pub(crate) const STACK_POINTER: Self = Self(4);

    /// The top of the x87 stack, as instructions name it.
    pub(crate) const X87_TOP: Self = Self(STACK);

    /// The number of a register; none for those that nothing waits for (segments, the instruction
    /// pointer).
    pub(crate) fn of(register: Register) -> Option<Self> {
        let full = register.full_register();
        Some(Self(if full.is_gpr() {
            full.number() as u8
        } else if register.is_vector_register() {
            VECTORS + register.number() as u8
        } else if register.is_k() {
            MASKS + register.number() as u8
        } else if register.is_st() || register.is_mm() {
            STACK + register.number() as u8
        } else {
            return None;
        }))
    }

    /// A register of the x87 stack by its place in the file, when the top lies at `top`; another register as it is.
    pub(crate) fn on_stack(self, top: u8) -> Self {
        match self.0 {
            STACK..CARRY => Self(STACK + (self.0 - STACK + top) % 8),
            _ => self,
        }
    }

    /// The groups that flags are in.
    pub(crate) fn of_flags(bits: u32) -> impl Iterator<Item = Self> {
        let others = RflagsBits::ZF | RflagsBits::SF | RflagsBits::PF | RflagsBits::AF;
        [(RflagsBits::CF, CARRY), (RflagsBits::OF, OVERFLOW), (others, OTHERS)]
            .into_iter()
            .filter(move |(group, _)| bits & group != 0)
            .map(|(_, number)| Self(number))
    }

    pub(crate) fn file(self) -> File {
        match self.0 {
            0..VECTORS => File::Integer,
            VECTORS..MASKS => File::Vector,
            MASKS..STACK => File::Mask,
            STACK..CARRY => File::Vector,
            _ => File::Flags,
        }
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0) % REGISTERS
    }
}
