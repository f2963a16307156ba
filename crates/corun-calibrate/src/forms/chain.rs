//! Chains: instructions of a form that each depend on the one before, for its latency.

use iced_x86::{Code, Instruction, OpAccess, Register};

use super::Form;
use super::operands::{Bank, Operand, reads, writes};
use super::registers::{CHAINED, Choice};
use crate::assembly::encode;

impl Form {
    /// Registers without a name that it reads and writes, and the flags: what makes one wait for another.
    pub(super) fn chained_by(&self) -> (Vec<Register>, bool) {
        let mut registers: Vec<Register> = Vec::new();
        for (register, _) in &self.implied {
            let full = register.full_register();
            let any = |is: fn(OpAccess) -> bool| {
                self.implied
                    .iter()
                    .any(|(other, access)| other.full_register() == full && is(*access))
            };
            // Writing a part of a register keeps the rest of it.
            let is_part = self.implied.iter().any(|(other, access)| {
                other.full_register() == full
                    && writes(*access)
                    && (other.is_gpr8() || other.is_gpr16())
            });
            if full.is_gpr64()
                && full != Register::RSP
                && any(writes)
                && (any(reads) || is_part)
                && !registers.contains(&full)
            {
                registers.push(full);
            }
        }
        let flags = self.sample.rflags_read() & self.sample.rflags_modified() != 0;
        (registers, flags)
    }

    /// True if one of many waits for another in any case.
    pub(crate) fn is_chained(&self) -> bool {
        let (registers, flags) = self.chained_by();
        flags || !registers.is_empty()
    }

    /// Instructions in which each waits for the last through a register that it names, or through those that
    /// it does not; none if no such chain exists, since it loads, stores, writes nothing, or moves between
    /// banks.
    pub(crate) fn link(&self) -> Option<Instruction> {
        if self.works_on_top() {
            return Some(self.sample);
        }
        if self.stack_operations() > 0 || self.gathers() || self.sample.is_string_instruction() {
            return None;
        }
        let written = self.operands.iter().position(|it| it.bank.is_some() && it.writes());
        let Some(written) = written else {
            let is_plain = !self.has_memory() && self.is_chained();
            return is_plain
                .then(|| self.with(&vec![Choice::Source; self.operands.len()], 0))
                .flatten();
        };
        let bank = self.operands[written].bank;
        let mut choices = vec![Choice::Source; self.operands.len()];
        choices[written] = Choice::Number(CHAINED);
        if self.is_address() {
            return self.with(&choices, 0);
        }
        if !self.operands[written].reads() {
            let is_like = |it: &Operand| it.bank == bank && it.reads() && !it.writes();
            let read = self.operands.iter().position(is_like)?;
            choices[read] = Choice::Number(CHAINED);
        } else if self.waits_for_another_bank() {
            return None;
        }
        self.with(&choices, 0)
    }

    /// True if it reads a register of another bank and writes only a part of its target.
    fn waits_for_another_bank(&self) -> bool {
        let mut banks = self.operands.iter().filter(|it| it.bank.is_some());
        let written = banks.clone().find(|it| it.writes());
        let other = banks.find(|it| !it.writes());
        match (written, other) {
            (Some(written), Some(other)) => written.bank != other.bank,
            _ => false,
        }
    }

    /// For a form that moves between banks: an instruction of it and one that moves back what it wrote, and
    /// the form of that one.
    pub(crate) fn round_trip(&self) -> Option<([Instruction; 2], &'static str)> {
        if self.has_memory() || self.stack_operations() > 0 {
            return None;
        }
        let written = self.operands.iter().position(|it| it.bank.is_some() && it.writes())?;
        let to = self.operands[written].bank?;
        let is_other = |it: &Operand| it.bank.is_some_and(|bank| bank != to) && it.reads();
        let read = self.operands.iter().position(is_other)?;
        let from = self.operands[read].bank?;
        let (back, code) = match (to, from) {
            (Bank::General, Bank::Vector) => ("movq x r64", Code::Movq_xmm_rm64),
            (Bank::Vector, Bank::General) => ("movq r64 x", Code::Movq_rm64_xmm),
            (Bank::General, Bank::Mask) => ("kmovq k r64", Code::VEX_Kmovq_kr_r64),
            (Bank::Mask, Bank::General) => ("kmovq r64 k", Code::VEX_Kmovq_r64_kr),
            (Bank::Mask, Bank::Vector) => ("vpmovm2q x k", Code::EVEX_Vpmovm2q_xmm_kr),
            (Bank::Vector, Bank::Mask) => ("vpmovq2m k x", Code::EVEX_Vpmovq2m_kr_xmm),
            (Bank::General, Bank::Mmx) => ("movq mm r64", Code::Movq_mm_rm64),
            (Bank::Mmx, Bank::General) => ("movq r64 mm", Code::Movq_rm64_mm),
            _ => return None,
        };
        let mut choices = vec![Choice::Source; self.operands.len()];
        choices[written] = Choice::Number(CHAINED);
        choices[read] = Choice::Number(CHAINED);
        let there = self.with(&choices, 0)?;
        let first = |bank: Bank| match bank {
            Bank::General => Register::RAX,
            Bank::Vector => Register::XMM0,
            Bank::Mask => Register::K0,
            Bank::Mmx => Register::MM0,
            Bank::X87 => Register::ST0,
        };
        let back_again =
            Instruction::with2(code, first(from) + CHAINED, first(to) + CHAINED).ok()?;
        Some(([there, back_again], back))
    }

    /// Instructions that read and write one place, each of which waits for the last.
    pub(crate) fn update(&self) -> Option<Vec<u8>> {
        if !self.is_update() || self.gathers() {
            return None;
        }
        let one = self.with(&vec![Choice::Source; self.operands.len()], 0)?;
        let (_, flags) = self.chained_by();
        let mut code = Vec::new();
        if flags {
            code.extend([0x45, 0x85, 0xed]);
        }
        code.extend(encode(&one));
        Some(code)
    }
}
