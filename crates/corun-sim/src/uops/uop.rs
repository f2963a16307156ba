//! Result of lowering: blocks of instructions, each of a few micro-ops.

use std::ops::Add;
use std::rc::Rc;

use corun_trace::{Direction, Form};
use smallvec::SmallVec;

use crate::uops::in_flight::InFlightUop;
use crate::uops::kind::{Kind, PortSet};
use crate::uops::{Buffer, Entries, RegisterId};
use corun_model::Repetition;
use corun_model::timing::Provenance;

/// Outline of every instruction of a block, close together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outline {
    /// End, in bytes from the beginning of the block.
    pub(crate) end: u32,
    /// True if it has places in memory.
    pub(crate) has_memory: bool,
}

/// A block's instructions.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecodedBlock {
    pub(crate) instructions: Vec<DecodedInstruction>,
    outlines: Vec<Outline>,
    /// Number of instructions of each provenance.
    provenances: [u32; Provenance::ALL.len()],
}

impl DecodedBlock {
    pub(crate) fn new(mut instructions: Vec<DecodedInstruction>) -> Self {
        instructions.iter_mut().for_each(DecodedInstruction::settle);
        let outlines = instructions.iter().scan(0, |end, instruction| {
            *end += u32::from(instruction.length);
            Some(Outline { end: *end, has_memory: !instruction.memory.is_empty() })
        });
        let outlines = outlines.collect();
        let mut provenances = [0; Provenance::ALL.len()];
        for instruction in &instructions {
            provenances[instruction.provenance as usize] += 1;
        }
        Self { instructions, outlines, provenances }
    }

    /// Bytes of all its instructions.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_of(self.outlines.len())
    }

    /// Bytes of so many of its instructions, the first ones.
    pub(crate) fn bytes_of(&self, instructions: usize) -> u64 {
        instructions.checked_sub(1).map_or(0, |last| self.outlines[last].end.into())
    }

    /// Outline of each instruction: what is needed most.
    pub(crate) fn outlines(&self) -> &[Outline] {
        &self.outlines
    }

    /// Number of its instructions of each provenance, among so many of them, the first ones.
    pub(crate) fn provenances_of(&self, instructions: usize) -> [u32; Provenance::ALL.len()] {
        let mut provenances = self.provenances;
        for instruction in self.instructions.iter().skip(instructions) {
            provenances[instruction.provenance as usize] -= 1;
        }
        provenances
    }
}

/// An instruction as this core does it.
#[derive(Debug, Clone)]
pub(crate) struct DecodedInstruction {
    /// Bytes.
    pub(crate) length: u8,
    /// Immediates and displacements that the op cache keeps, those of 64 bits counted twice.
    pub(crate) constants: u8,
    /// Micro-ops of queue, renaming, reorder buffer and retirement; 0 if it is one with the
    /// instruction before it, or a copy that is one with the instruction after it.
    pub(crate) slots: u8,
    /// True if it does nothing. Decoders and op cache have a place for it even if it shares a slot.
    pub(crate) is_nop: bool,
    /// Slots from renaming on, where some of them part again (unlamination).
    pub(crate) renamed: u8,
    /// Effect of its results.
    pub(crate) effect: Effect,
    /// Micro-ops, in order; a micro-op's sources lie before it.
    pub(crate) uops: Vec<Uop>,
    /// Digest of the instruction for renaming, once all else of it is known.
    pub(crate) digest: Digest,
    /// Places in memory, in the order of the trace's values.
    pub(crate) memory: Vec<Memory>,
    /// Physical registers that its results take: general-purpose, vector, mask.
    pub(crate) registers: [u8; 3],
    /// Entries of the load queue.
    pub(crate) loads: u8,
    /// Entries of the store queue.
    pub(crate) stores: u8,
    /// Kind of branch, if it is one.
    pub(crate) branch: Option<corun_trace::BranchKind>,
    /// Provenance of its timing.
    pub(crate) provenance: Provenance,
    /// True if it comes from the microcode sequencer.
    pub(crate) is_microcode: bool,
    /// True if it may become one with a jump after it.
    pub(crate) may_fuse: bool,
    /// True if only the first decoder takes it, and whether it lets no other in then.
    pub(crate) first_only: bool,
    pub(crate) alone: bool,
    /// Offset of its opcode, after its prefixes.
    pub(crate) opcode_at: u8,
    /// The instruction that is executed if a copy cannot be eliminated.
    pub(crate) executed: Option<Box<DecodedInstruction>>,
    /// True if it waits until everything before it is done, and keeps back what comes after it.
    pub(crate) is_serializing: bool,
    /// Cycles for which nothing after it is renamed, so that siblings have the core (`pause`).
    pub(crate) pauses: u16,
    /// Timing by its elements, if it is a repeated string instruction.
    pub(crate) repetition: Option<Rc<Repetition>>,
    /// True if it also waits until all stores have reached the cache.
    pub(crate) is_draining: bool,
    /// True if its accesses wait until the stores before them have reached the cache.
    pub(crate) is_locked: bool,
    /// True if a prefix changes its length.
    pub(crate) has_length_changing_prefix: bool,
    /// True if the stack engine must synchronise the stack pointer with the back end first: it is read or
    /// written as any register.
    pub(crate) uses_stack_pointer: bool,
    /// True if the stack engine moves the stack pointer.
    pub(crate) moves_stack_pointer: bool,
}

/// Digest of an instruction for renaming, worked out once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Digest {
    /// Entries of registers and of the load queue, which it has until it is retired.
    pub(crate) held: Entries,
    /// Entries of all buffers without which it is not renamed.
    pub(crate) wanted: Entries,
    /// Number of its values in a trace, if that is known.
    pub(crate) values: Option<u8>,
    /// True if it is renamed as it stands, whatever comes before it: it is no copy, does not part in several slots, neither
    /// waits nor keeps anything back, and does not need the stack pointer.
    pub(crate) is_plain: bool,
}

impl DecodedInstruction {
    /// Works the digest out, after all changes.
    fn settle(&mut self) {
        let [integer, vector, mask] = self.registers;
        let registers = [
            (Buffer::IntegerRegisters, integer),
            (Buffer::VectorRegisters, vector),
            (Buffer::MaskRegisters, mask),
            (Buffer::Loads, self.loads),
        ];
        let entries = registers.map(|(buffer, count)| Entries::of(buffer, count.into()));
        let held = entries.into_iter().fold(Entries::default(), Entries::add);
        let rob = Entries::of(Buffer::Rob, self.renamed.max(1).into());
        let is_move = matches!(self.effect, Effect::Move(..));
        self.uops.iter_mut().for_each(|uop| uop.begins = uop.in_flight());
        self.digest = Digest {
            held,
            values: self.memory.iter().try_fold(0_u8, |sum, place| {
                sum.checked_add(match place.form {
                    Form::Single => 1,
                    Form::Repeated => 2,
                    Form::Lanes => return None,
                })
            }),
            wanted: held + rob + Entries::of(Buffer::Stores, self.stores.into()),
            is_plain: !(is_move
                || self.uses_stack_pointer
                || self.keeps_back()
                || self.is_draining
                || self.renamed > self.slots),
        };
        if let Some(executed) = &mut self.executed {
            executed.settle();
        }
    }

    /// True if what comes after it waits for it, or its length depends on what it touches: a wrong path is not followed
    /// beyond it.
    pub(crate) fn keeps_back(&self) -> bool {
        self.is_serializing || self.is_locked || self.pauses > 0 || self.repetition.is_some()
    }

    /// Decoder slots and op cache entries that it takes.
    pub(crate) fn entries(&self) -> u32 {
        self.slots.into()
    }
}

/// Effect of an instruction's results when it is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Results of its micro-ops.
    Uops,
    /// It has none.
    Nothing,
    /// Registers become zero: ready at once.
    Zero([Option<RegisterId>; 4]),
    /// The first becomes another name of the second.
    Move(RegisterId, RegisterId),
    /// Each becomes the name of what the other was.
    Exchange(RegisterId, RegisterId),
}

/// A place in memory that an instruction uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) direction: Direction,
    /// Bytes of an access.
    pub(crate) size: u16,
    pub(crate) form: corun_trace::Form,
    /// A number for base, index, scale and displacement together; equal ones may be one place.
    pub(crate) name: u32,
    /// The registers of the address.
    pub(crate) registers: [Option<RegisterId>; 2],
    /// True if its address has an index that is scaled or a vector, or an index and a displacement.
    pub(crate) is_complex: bool,
    /// True if its address is one register and less than 2048 bytes after that.
    pub(crate) is_near: bool,
    /// True if its address is the stack pointer and a displacement.
    pub(crate) is_on_stack: bool,
    /// True if what is loaded or stored is in no vector or mask register: loads are renamed to general-purpose ones alone.
    pub(crate) is_general: bool,
    /// True if a load of it may be renamed to the register of the store before.
    pub(crate) may_be_renamed: bool,
    /// Delay in cycles until a load has what is stored there, if it is renamed.
    pub(crate) renamed_later: u8,
}

/// Sources of a micro-op, kept inside of it, so that it is there when they are: as much as takes no more
/// room than a vector elsewhere would.
pub(crate) type Sources = SmallVec<[Source; 5]>;
pub(crate) type Results = SmallVec<[RegisterId; 16]>;

/// One step of an instruction.
#[derive(Debug, Clone)]
pub(crate) struct Uop {
    /// As it begins in flight, once all else of it is known.
    pub(crate) begins: InFlightUop,
    pub(crate) kind: Kind,
    /// True if it moves a vector to or from memory.
    pub(crate) is_vector: bool,
    pub(crate) ports: PortSet,
    /// Place among the instruction's slots from renaming on.
    pub(crate) slot: u8,
    /// Cycles for which it keeps its port.
    pub(crate) busy: u16,
    /// Cycles from its start to its results.
    pub(crate) latency: u16,
    pub(crate) sources: Sources,
    pub(crate) results: Results,
}

impl Uop {
    /// As it begins in flight, but for when that is, where it is executed and what it waits for.
    fn in_flight(&self) -> InFlightUop {
        InFlightUop::new(self.kind, self.is_vector, self.ports != 0, self.busy, self.latency)
    }
}

/// Source of a micro-op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A register, which may come so many cycles after the start.
    Register(RegisterId, u8),
    /// The instruction's own micro-op of this index.
    Own(u8),
}

#[cfg(test)]
mod tests {
    use crate::uops::Lowering;
    use corun_model::timing::{Provenance, TimingTable};

    #[test]
    fn what_is_counted_of_a_block_is_that_of_its_first_instructions() {
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        // add rax, [rdi]; nop; imul rcx, rdx; fsin; mov [rdi], rax
        let code = [
            &[0x48, 0x03, 0x07][..],
            &[0x90],
            &[0x48, 0x0f, 0xaf, 0xca],
            &[0xd9, 0xfe],
            &[0x48, 0x89, 0x07],
        ];
        let block = corun_trace::decode(0x1000, &code.concat()).unwrap();
        let block = Lowering::new(&model, &timings).lower(&block);
        assert_eq!(block.instructions.len(), code.len());
        for count in 0..=code.len() {
            let first = &block.instructions[..count];
            assert_eq!(block.bytes_of(count), code[..count].concat().len() as u64);
            let of =
                |provenance| first.iter().filter(|one| one.provenance == provenance).count() as u32;
            assert_eq!(block.provenances_of(count), Provenance::ALL.map(of));
        }
        assert_eq!(block.bytes(), code.concat().len() as u64);
        let has_memory: Vec<bool> = block.outlines().iter().map(|it| it.has_memory).collect();
        assert_eq!(has_memory, [true, false, false, false, true]);
    }
}
