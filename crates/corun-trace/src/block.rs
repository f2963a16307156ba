//! Code as it is executed: straight runs of instructions, each described once.
//!
//! What a block touches in memory is known from its instructions but for the addresses, so that a trace
//! holds an address for each operand and nothing else.

use crate::ChampSimInstruction;

/// A block's place in the dictionary, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Instructions that follow each other, entered at the first; only the last one may branch.
///
/// Code that changes (just-in-time compilers) gives several blocks with one address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// Address of the block.
    pub address: u64,
    /// Code of the instructions.
    pub code: Code,
    /// In the order of execution; at least one.
    pub instructions: Vec<Instruction>,
    /// The memory operands of all instructions, in their order.
    pub operands: Vec<MemoryOperand>,
}

/// Code of a block's instructions, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Code {
    /// Their bytes, as long as all instructions together.
    Bytes(Vec<u8>),
    /// Record of each in an imported trace instead of its bytes.
    ChampSim(Vec<ChampSimInstruction>),
}

/// One instruction of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// In bytes, 1 to 15. Of the last instruction of a block without bytes, 0 if it is not known.
    pub length: u8,
    /// Number of the block's operands that are its own.
    pub operands: u8,
}

/// A place in memory that an instruction reads or writes; reading comes before writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryOperand {
    /// Direction of the accesses.
    pub direction: Direction,
    /// Bytes of one access; 0 where the state of the core decides (`xsave`) and where there is no
    /// code to show it.
    pub size: u16,
    /// Number of its accesses.
    pub form: Form,
}

/// Direction of an operand's accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Loads, then stores to the same address.
    ReadWrite,
    /// Asks for a cache line; changes nothing.
    Prefetch,
}

/// Number of accesses of an operand each time, and so which values a trace holds for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// One: its address, 0 where the tracer does not know it.
    Single,
    /// A lane of a vector each, where the mask lets it (gather, scatter): their number, then the
    /// addresses, lowest lane first.
    Lanes,
    /// One an iteration of a `rep` instruction: twice their number, plus 1 if addresses fall; then the
    /// first address. The others follow it at the distance of the size.
    Repeated,
}

/// The most lanes of a vector: 16 of 4 bytes in 64.
pub(crate) const MAX_LANES: usize = 16;

impl Block {
    /// The bytes of the code, if they are known.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.code {
            Code::Bytes(bytes) => Some(bytes),
            Code::ChampSim(_) => None,
        }
    }

    /// The address after it, as far as the lengths of its instructions are known.
    pub fn end(&self) -> u64 {
        let lengths = self.instructions.iter().map(|instruction| u64::from(instruction.length));
        lengths.fold(self.address, u64::wrapping_add)
    }

    /// The address of each instruction.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.instructions.iter().scan(self.address, |next, instruction| {
            let address = *next;
            *next = next.wrapping_add(u64::from(instruction.length));
            Some(address)
        })
    }

    /// The operands of the first `executed` instructions.
    pub fn operands_of(&self, executed: usize) -> &[MemoryOperand] {
        let instructions = self.instructions.iter().take(executed);
        &self.operands[..instructions.map(|instruction| usize::from(instruction.operands)).sum()]
    }
}
