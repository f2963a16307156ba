//! Instructions of each form: one that waits for the one before it, and many that wait for none.

mod list;

use iced_x86::{Code, Instruction, InstructionInfoFactory, MemoryOperand, OpAccess, Register};

/// A form of instruction that can be made with any registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// As timing tables name it.
    pub name: &'static str,
    code: Code,
}

/// All forms that are measured.
pub(crate) fn all() -> impl Iterator<Item = Form> {
    list::FORMS.iter().map(|&(name, code)| Form { name, code })
}

/// Numbers of registers: general-purpose ones count as encoded.
const CHAINED: u32 = 0;
/// What every instruction may read and none writes, `rcx` or the vector of this number.
const SOURCE: u32 = 1;
/// What many instructions write in turn. 4 is the stack's, 14 the memory's, 15 the loop's.
const TARGETS: [u32; 11] = [0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12];
/// Places in memory that are used in turn, so far apart.
const PLACES: i64 = 16;
const APART: i64 = 128;

/// What an operand is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bank {
    General,
    Vector,
    Memory,
    Constant,
}

/// One operand of an instruction.
#[derive(Debug, Clone, Copy)]
enum Operand {
    Register(Register),
    Memory(MemoryOperand),
    Immediate(i32),
}

impl Form {
    fn kinds(self) -> impl Iterator<Item = &'static str> {
        self.name.split(' ').skip(1)
    }

    /// What begins with the mnemonic.
    pub fn mnemonic(self) -> &'static str {
        self.name.split(' ').next().unwrap_or_default()
    }

    fn banks(self) -> Vec<Bank> {
        self.kinds().map(bank).collect()
    }

    /// An instruction that writes the register of the first number, where it writes one, and reads that
    /// of the second where it can, and else what nobody writes.
    fn instruction(self, target: u32, read: u32, place: i64) -> Instruction {
        let operands: Vec<Operand> = self
            .kinds()
            .enumerate()
            .map(|(index, kind)| operand(kind, if index == 0 { target } else { read }, read, place))
            .collect();
        build(self.code, &operands)
    }

    /// Any instruction of the form.
    pub fn sample(self) -> Instruction {
        self.instruction(2, SOURCE, 0)
    }

    /// So many instructions, none of which waits for another.
    pub fn stream(self, count: usize) -> Vec<Instruction> {
        let one = |index: usize| {
            let target = TARGETS[index % TARGETS.len()];
            self.instruction(target, SOURCE, index as i64 % PLACES * APART)
        };
        (0..count).map(one).collect()
    }

    /// Whether one of many waits for another in any case, through the flags.
    pub fn is_chained_by_flags(self) -> bool {
        let sample = self.sample();
        sample.rflags_read() & sample.rflags_modified() != 0
    }

    /// How the first operand is used.
    fn access(self) -> OpAccess {
        InstructionInfoFactory::new().info(&self.sample()).op0_access()
    }

    /// An instruction whose first operand waits for the last one's; none if no such instruction exists:
    /// the form loads, stores, writes nothing, or moves between banks of registers.
    pub fn link(self) -> Option<Instruction> {
        let banks = self.banks();
        if banks.contains(&Bank::Memory) && self.mnemonic() != "lea" {
            return None;
        }
        let is_one_bank = banks.iter().all(|&bank| bank == banks[0] || bank == Bank::Constant);
        match (self.access(), banks.get(1)) {
            _ if !is_one_bank && self.mnemonic() != "lea" => None,
            (OpAccess::ReadWrite | OpAccess::ReadCondWrite, _) => {
                Some(self.instruction(CHAINED, SOURCE, 0))
            }
            (OpAccess::CondWrite, _) if self.mnemonic().starts_with("cmov") => {
                Some(self.instruction(CHAINED, SOURCE, 0))
            }
            (OpAccess::Write, Some(Bank::Constant) | None) => None,
            (OpAccess::Write | OpAccess::CondWrite, Some(_)) => {
                // The second operand alone, so that nothing gives zero or one for two of the same.
                let operands: Vec<Operand> = self
                    .kinds()
                    .enumerate()
                    .map(|(index, kind)| {
                        let number = if index < 2 { CHAINED } else { SOURCE };
                        operand(kind, number, SOURCE, 0)
                    })
                    .collect();
                Some(build(self.code, &operands))
            }
            _ => None,
        }
    }

    /// For a form that moves between banks: an instruction of it and one that moves back what it wrote,
    /// and the form of that one.
    pub fn round_trip(self) -> Option<([Instruction; 2], &'static str)> {
        let back = match self.banks()[..] {
            [Bank::General, Bank::Vector] => "movq x r64",
            [Bank::Vector, Bank::General] => "movq r64 x",
            _ => return None,
        };
        let back = all().find(|form| form.name == back)?;
        let both = [self, back].map(|form| form.instruction(CHAINED, CHAINED, 0));
        Some((both, back.name))
    }

    /// What 8 bytes of vector registers should hold: numbers that neither grow nor vanish.
    pub fn vector(self) -> u64 {
        const DOUBLE: u64 = 0x3ff0_0000_1234_5678;
        let name = self.mnemonic();
        if name.ends_with("sd") || name.ends_with("pd") || name.starts_with("cvtsd") {
            DOUBLE
        } else {
            crate::bench::ONES
        }
    }
}

fn bank(kind: &str) -> Bank {
    match kind {
        "cl" | "1" => Bank::Constant,
        _ if kind.starts_with('r') => Bank::General,
        "x" | "y" => Bank::Vector,
        _ if kind.starts_with('i') && kind[1..].bytes().all(|it| it.is_ascii_digit()) => {
            Bank::Constant
        }
        _ => Bank::Memory,
    }
}

fn operand(kind: &str, number: u32, index: u32, place: i64) -> Operand {
    let general = |first: Register| Operand::Register(first + number);
    match kind {
        "r64" => general(Register::RAX),
        "r32" => general(Register::EAX),
        "r16" => general(Register::AX),
        "r8" => Operand::Register(low_byte(number)),
        "x" => general(Register::XMM0),
        "y" => general(Register::YMM0),
        "cl" => Operand::Register(Register::CL),
        "1" => Operand::Immediate(1),
        _ if bank(kind) == Bank::Constant => Operand::Immediate(3),
        _ if kind.starts_with('m') => {
            Operand::Memory(MemoryOperand::with_base_displ_size(Register::R14, place, 8))
        }
        parts => Operand::Memory(address(parts, number, index)),
    }
}

/// An address of LEA from its parts.
fn address(parts: &str, number: u32, index: u32) -> MemoryOperand {
    let has = |part: char| parts.contains(part);
    let base = if has('b') { Register::RAX + number } else { Register::None };
    // Without a base the index is what is waited for.
    let index = match (has('i'), base) {
        (false, _) => Register::None,
        (true, Register::None) => Register::RAX + number,
        (true, _) => Register::RAX + index,
    };
    let scale = if has('s') { 4 } else { 1 };
    let (displacement, size) = match (has('d'), base) {
        (false, _) => (0, 0),
        (true, Register::None) => (5, 8),
        (true, _) => (5, 1),
    };
    MemoryOperand::new(base, index, scale, displacement, size, false, Register::None)
}

fn low_byte(number: u32) -> Register {
    const LOW: [Register; 4] = [Register::AL, Register::CL, Register::DL, Register::BL];
    match LOW.get(number as usize) {
        Some(register) => *register,
        None => Register::SPL + (number - 4),
    }
}

/// # Panics
/// If the operands do not fit the code.
fn build(code: Code, operands: &[Operand]) -> Instruction {
    use Operand::{Immediate as I, Memory as M, Register as R};
    let built = match *operands {
        [] => Ok(Instruction::with(code)),
        [R(a)] => Instruction::with1(code, a),
        [M(a)] => Instruction::with1(code, a),
        [R(a), R(b)] => Instruction::with2(code, a, b),
        [R(a), M(b)] => Instruction::with2(code, a, b),
        [R(a), I(b)] => Instruction::with2(code, a, b),
        [M(a), R(b)] => Instruction::with2(code, a, b),
        [M(a), I(b)] => Instruction::with2(code, a, b),
        [R(a), R(b), R(c)] => Instruction::with3(code, a, b, c),
        [R(a), R(b), I(c)] => Instruction::with3(code, a, b, c),
        [R(a), R(b), R(c), R(d)] => Instruction::with4(code, a, b, c, d),
        [R(a), R(b), R(c), I(d)] => Instruction::with4(code, a, b, c, d),
        ref other => unreachable!("no form has the operands {other:?}"),
    };
    built.expect("operands that fit")
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;
    use crate::assembly::encode;

    fn decoded(instruction: &Instruction) -> Instruction {
        Decoder::with_ip(64, &encode(instruction), 0, DecoderOptions::NONE).decode()
    }

    #[test]
    fn each_form_is_of_the_name_that_timing_tables_give_it() {
        for form in all() {
            assert_eq!(corun_sim::timing::form(&decoded(&form.sample())), form.name);
            if let Some(link) = form.link() {
                assert_eq!(corun_sim::timing::form(&decoded(&link)), form.name);
            }
        }
    }

    #[test]
    fn each_form_is_listed_once() {
        let mut names: Vec<&str> = all().map(|form| form.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_link_waits_for_itself_and_a_stream_for_nothing() {
        let mut factory = InstructionInfoFactory::new();
        let mut uses = |instruction: &Instruction| {
            let info = factory.info(instruction);
            let of = |wanted: fn(OpAccess) -> bool| -> Vec<Register> {
                let used = info.used_registers().iter().filter(|it| wanted(it.access()));
                used.map(|it| it.register().full_register()).collect()
            };
            // What may be left as it was is waited for.
            let reads = of(|it| it != OpAccess::Write);
            (reads, of(|it| !matches!(it, OpAccess::Read | OpAccess::CondRead)))
        };
        for form in all() {
            if let Some(link) = form.link() {
                let (reads, writes) = uses(&link);
                assert!(writes.iter().any(|it| reads.contains(it)), "{}: {link}", form.name);
            }
            for one in form.stream(40) {
                let (_, writes) = uses(&one);
                assert!(
                    !writes.iter().any(|it| matches!(
                        it,
                        Register::RCX | Register::RSP | Register::R14 | Register::R15
                    )),
                    "{}: {one}",
                    form.name
                );
            }
        }
    }
}
