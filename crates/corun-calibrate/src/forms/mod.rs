//! Instructions of each form: one that waits for the one before it, and many that wait for none.

mod chain;
mod operands;
mod registers;
mod samples;
mod setup;
mod stream;
#[cfg(test)]
mod tests;

use iced_x86::{Code, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};

use operands::{Operand, bank, is_encoded, set};

/// A form of instruction, with an instruction that its registers can be changed of.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// As timing tables name it.
    pub name: &'static str,
    sample: Instruction,
    operands: Vec<Operand>,
    /// Implied registers that it reads and writes.
    implied: Vec<(Register, OpAccess)>,
}

/// All forms that a program may execute, in the order of their names.
pub(crate) fn all() -> impl Iterator<Item = Form> {
    samples::SAMPLES.iter().map(|(name, sample)| Form::new(name, *sample))
}

/// The register of a gather's mask.
const MASK: u32 = 12;

impl Form {
    fn new(name: &'static str, sample: Instruction) -> Self {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&sample);
        let mut operands: Vec<Operand> = (0..sample.op_count())
            .map(|index| {
                let (bank, first) = match sample.op_kind(index) {
                    OpKind::Register => bank(sample.op_register(index)),
                    _ => (None, Register::None),
                };
                let is_memory = sample.op_kind(index) == OpKind::Memory;
                Operand { bank, access: info.op_access(index), first, is_memory }
            })
            .collect();
        let named = |register: Register| {
            let full = register.full_register();
            (0..sample.op_count()).any(|index| {
                sample.op_kind(index) == OpKind::Register
                    && operands[index as usize].bank.is_some()
                    && sample.op_register(index).full_register() == full
            }) || full == sample.memory_base().full_register()
                || full == sample.memory_index().full_register()
        };
        let implied: Vec<(Register, OpAccess)> = info
            .used_registers()
            .iter()
            .filter(|used| !named(used.register()))
            .map(|used| (used.register(), used.access()))
            .collect();
        // What another number cannot be encoded for is not to be chosen.
        for (index, operand) in operands.iter_mut().enumerate() {
            if operand.bank.is_none() {
                continue;
            }
            let mut other = sample;
            let number = if sample.op_register(index as u32).number() == 5 { 6 } else { 5 };
            set(&mut other, index, operand, number);
            if !is_encoded(&other, name, index) {
                operand.bank = None;
            }
        }
        let mut made = Self { name, sample, operands, implied };
        // A register that cannot be chosen is implied as well.
        for index in 0..made.operands.len() {
            let operand = made.operands[index];
            if sample.op_kind(index as u32) == OpKind::Register && operand.bank.is_none() {
                made.implied.push((sample.op_register(index as u32), operand.access));
            }
        }
        made
    }

    /// The mnemonic.
    pub(crate) fn mnemonic(&self) -> &'static str {
        let words: Vec<&'static str> = self.name.split(' ').collect();
        let is_prefix = matches!(words[0], "lock" | "rep" | "repne");
        words[usize::from(is_prefix && words.len() > 1)]
    }

    /// Any instruction of the form.
    pub(crate) fn sample(&self) -> Instruction {
        self.sample
    }

    /// True if it is an address, and no memory.
    fn is_address(&self) -> bool {
        self.sample.code() == Code::Lea_r64_m
            || self.sample.code() == Code::Lea_r32_m
            || self.sample.code() == Code::Lea_r16_m
    }

    /// True if it reads or writes memory that it names.
    pub(crate) fn has_memory(&self) -> bool {
        self.operands.iter().any(|operand| operand.is_memory) && !self.is_address()
    }

    /// True if it reads and writes the same memory.
    pub(crate) fn is_update(&self) -> bool {
        self.has_memory()
            && self.operands.iter().any(|it| it.is_memory && it.reads() && it.writes())
    }

    /// True if its addresses are those that a vector holds.
    fn gathers(&self) -> bool {
        self.sample.memory_index().is_vector_register()
    }

    /// The bits of the memory that it updates.
    pub(crate) fn width(&self) -> Option<u32> {
        let memory = self.name.split(' ').find(|word| {
            word.starts_with('m')
                && word[1..].bytes().all(|it| it.is_ascii_digit())
                && word.len() > 1
        });
        memory.and_then(|word| word[1..].parse().ok())
    }
}
