//! Instructions of each form: one that waits for the one before it, and many that wait for none.

mod samples;

use corun_model::timing::form;
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, Instruction, InstructionInfoFactory, OpAccess, OpKind,
    Register,
};

use crate::assembly::encode;

/// A form of instruction, with an instruction that its registers can be changed of.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// As timing tables name it.
    pub name: &'static str,
    sample: Instruction,
    operands: Vec<Operand>,
    /// What it reads and writes without naming it.
    implied: Vec<(Register, OpAccess)>,
}

/// All forms that a program may execute, in the order of their names.
pub(crate) fn all() -> impl Iterator<Item = Form> {
    samples::SAMPLES.iter().map(|(name, sample)| Form::new(name, *sample))
}

/// Numbers of registers: general-purpose ones count as encoded.
const CHAINED: u32 = 2;
/// What every instruction may read and none writes, by their order among the operands.
const SOURCES: [u32; 3] = [1, 13, 12];
/// What many instructions write in turn. 4 is the stack's, 14 the memory's, 15 the loop's.
const TARGETS: [u32; 9] = [2, 3, 5, 6, 7, 8, 9, 10, 11];
/// The same where there are eight registers.
const SHORT_SOURCES: [u32; 3] = [1, 3, 2];
const SHORT_TARGETS: [u32; 4] = [4, 5, 6, 7];
/// Places in memory that are used in turn, so far apart.
const PLACES: i64 = 16;
const APART: i64 = 128;

/// What registers are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bank {
    General,
    Vector,
    Mask,
    Mmx,
    X87,
}

#[derive(Debug, Clone, Copy)]
struct Operand {
    /// Of which registers, if it is one that can be chosen.
    bank: Option<Bank>,
    access: OpAccess,
    first: Register,
    is_memory: bool,
}

impl Operand {
    fn reads(self) -> bool {
        reads(self.access)
    }

    fn writes(self) -> bool {
        writes(self.access)
    }
}

fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite};
    // What may be left as it was is waited for.
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite | CondWrite)
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// What to choose for an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// This number.
    Number(u32),
    /// A register that nobody writes.
    Source,
}

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

    /// Whether it is an address, and no memory.
    fn is_address(&self) -> bool {
        self.sample.code() == Code::Lea_r64_m
            || self.sample.code() == Code::Lea_r32_m
            || self.sample.code() == Code::Lea_r16_m
    }

    /// Whether it reads or writes memory that it names.
    pub(crate) fn has_memory(&self) -> bool {
        self.operands.iter().any(|operand| operand.is_memory) && !self.is_address()
    }

    /// Whether it reads and writes the same memory.
    pub(crate) fn is_update(&self) -> bool {
        self.has_memory()
            && self.operands.iter().any(|it| it.is_memory && it.reads() && it.writes())
    }

    /// Whether its addresses are those that a vector holds.
    fn gathers(&self) -> bool {
        self.sample.memory_index().is_vector_register()
    }

    /// The instruction with these choices, operand by operand, and its memory at this place.
    fn with(&self, choices: &[Choice], place: i64) -> Option<Instruction> {
        let mut made = self.sample;
        let mut sources = 0;
        for (index, operand) in self.operands.iter().enumerate() {
            if operand.bank.is_none() {
                continue;
            }
            let is_mask = self.gathers() && index == 2 && self.sample.op_mask() == Register::None;
            let number = match choices[index] {
                _ if is_mask => MASK,
                Choice::Number(number) => number,
                Choice::Source => {
                    sources += 1;
                    self.source(operand, sources - 1)
                }
            };
            set(&mut made, index, operand, number);
        }
        if self.has_memory() && self.sample.memory_base() != Register::None {
            made.set_memory_base(Register::R14);
            let is_gather = self.gathers();
            if is_gather {
                let (_, first) = bank(made.memory_index());
                made.set_memory_index(first + 13);
            } else {
                made.set_memory_index(Register::None);
                made.set_memory_index_scale(1);
            }
            made.set_memory_displacement64(place as u64);
            made.set_memory_displ_size(8);
        } else if self.is_address() {
            self.choose_address(&mut made, choices);
        }
        is_form(&made, self.name).then_some(made)
    }

    /// The base waits, or else the index does.
    fn choose_address(&self, made: &mut Instruction, choices: &[Choice]) {
        let waits = match choices.first() {
            Some(Choice::Number(number)) if *number == CHAINED => CHAINED,
            _ => SOURCES[0],
        };
        let wide = |number: u32| Register::RAX + number;
        let has_base = made.memory_base().is_gpr();
        if has_base {
            made.set_memory_base(wide(waits));
        }
        if made.memory_index().is_gpr() {
            made.set_memory_index(wide(if has_base { SOURCES[1] } else { waits }));
        }
    }

    fn is_short(bank: Option<Bank>) -> bool {
        matches!(bank, Some(Bank::Mask | Bank::Mmx | Bank::X87))
    }

    fn source(&self, operand: &Operand, order: usize) -> u32 {
        let all = if Self::is_short(operand.bank) { SHORT_SOURCES } else { SOURCES };
        all[order % all.len()]
    }

    /// The registers that many instructions write in turn.
    fn targets(operand: &Operand) -> &'static [u32] {
        if Self::is_short(operand.bank) { &SHORT_TARGETS } else { &TARGETS }
    }

    /// So many instructions, none of which waits for another where that can be had, and how many more stand
    /// between them to that end.
    pub(crate) fn stream(&self, count: usize) -> Option<Stream> {
        let code = self.pieces(count)?.concat();
        let breakers = self.count_of_breakers();
        let turns = self
            .operands
            .iter()
            .filter(|it| it.bank.is_some() && it.reads() && it.writes())
            .map(|it| Self::targets(it).len())
            .min();
        Some(Stream { code, breakers, turns })
    }

    /// The instructions of a stream, each with what ends its chains.
    pub(crate) fn pieces(&self, count: usize) -> Option<Vec<Vec<u8>>> {
        let breakers = self.breakers();
        let mut pieces = Vec::with_capacity(count);
        for index in 0..count {
            let mut code = breakers.clone();
            let mut written = 0;
            let choices: Vec<Choice> = self
                .operands
                .iter()
                .map(|operand| {
                    if operand.bank.is_none() || !operand.writes() {
                        return Choice::Source;
                    }
                    let targets = Self::targets(operand);
                    written += 1;
                    Choice::Number(targets[(index + (written - 1) * 3) % targets.len()])
                })
                .collect();
            let apart = if self.gathers() { 0 } else { index as i64 % PLACES * APART };
            code.extend(encode(&self.with(&choices, apart)?));
            code.extend(self.balance(false));
            pieces.push(code);
        }
        Some(pieces)
    }

    /// Stack operations that bring the x87 stack back to where it was.
    fn balance(&self, before: bool) -> Vec<u8> {
        let change = self.sample.fpu_stack_increment_info().increment();
        match (change, before) {
            // A copy of st1 to work on, and away with it.
            (0, true) if self.works_on_top() => vec![0xd9, 0xc1],
            (0, false) if self.works_on_top() => vec![0xdd, 0xd8],
            // fstp st0 behind what pushes; fld st0 before what pops.
            (..0, false) => [0xdd, 0xd8].repeat(change.unsigned_abs() as usize),
            (1.., true) => [0xd9, 0xc0].repeat(change as usize),
            _ => Vec::new(),
        }
    }

    /// Whether it changes the top of the x87 stack and nothing else.
    fn works_on_top(&self) -> bool {
        use iced_x86::Mnemonic::{
            F2xm1, Fabs, Fchs, Fcos, Fprem, Fprem1, Frndint, Fscale, Fsin, Fsqrt,
        };
        matches!(
            self.sample.mnemonic(),
            F2xm1 | Fabs | Fchs | Fcos | Fprem | Fprem1 | Frndint | Fscale | Fsin | Fsqrt
        )
    }

    /// How many operations of the x87 stack stand beside it.
    pub(crate) fn stack_operations(&self) -> u32 {
        if self.works_on_top() {
            return 2;
        }
        self.sample.fpu_stack_increment_info().increment().unsigned_abs()
    }

    /// Registers without a name that it reads and writes, and the flags: what makes one wait for another.
    fn chained_by(&self) -> (Vec<Register>, bool) {
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

    /// What ends the chains through registers without a name and through flags.
    fn breakers(&self) -> Vec<u8> {
        let mut code = self.balance(true);
        let (registers, flags) = self.chained_by();
        let is_string = self.sample.is_string_instruction();
        for register in registers {
            if matches!(register, Register::RSI | Register::RDI) {
                // mov to where the string begins
                code.extend(encode(&crate::code::copy(register, Register::R14)));
            } else if !is_string {
                let low = Register::EAX + register.number() as u32;
                code.extend(encode(&crate::code::constant(Code::Mov_r32_imm32, low, 1)));
            }
        }
        if flags {
            // test r13d, r13d
            code.extend([0x45, 0x85, 0xed]);
        }
        if self.gathers() {
            code.extend(self.all_elements());
        }
        code
    }

    fn count_of_breakers(&self) -> usize {
        let (registers, flags) = self.chained_by();
        registers.len() + usize::from(flags) + usize::from(self.gathers())
    }

    /// A gather ends with no element left to gather: sets all again.
    fn all_elements(&self) -> Vec<u8> {
        match self.sample.op_mask() {
            Register::None => match self.operands.get(2).map(|it| it.first) {
                // vpcmpeqd of the mask's register with itself
                Some(first) => {
                    let wide = first == Register::YMM0;
                    let code = if wide {
                        Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256
                    } else {
                        Code::VEX_Vpcmpeqd_xmm_xmm_xmmm128
                    };
                    let mask = first + MASK;
                    Instruction::with3(code, mask, mask, mask)
                        .map(|it| encode(&it))
                        .unwrap_or_default()
                }
                None => Vec::new(),
            },
            // kxnorq k1, k1, k1
            mask => Instruction::with3(Code::VEX_Kxnorq_kr_kr_kr, mask, mask, mask)
                .map(|it| encode(&it))
                .unwrap_or_default(),
        }
    }

    /// Whether one of many waits for another in any case.
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

    /// Whether it takes its number from another bank, and only keeps a part of what it writes.
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

    /// What has to be done once, before the loop.
    pub(crate) fn setup(&self) -> Vec<u8> {
        let mut code = Vec::new();
        let is_legacy = self.sample.encoding() == iced_x86::EncodingKind::Legacy;
        if is_legacy && has_avx() && self.operands.iter().any(|it| it.first == Register::XMM0) {
            // vzeroupper: what keeps the upper half of a register takes longer.
            code.extend([0xc5, 0xf8, 0x77]);
        }
        let x87 =
            self.operands.iter().any(|it| it.bank == Some(Bank::X87)) || self.name.starts_with('f');
        if x87 {
            // fninit, then numbers, and room for two more
            code.extend([0xdb, 0xe3]);
            code.extend([0xd9, 0xe8].repeat(6));
        }
        if self.sample.op_mask() != Register::None
            || self.operands.iter().any(|it| it.bank == Some(Bank::Mask))
        {
            for number in 0..8 {
                let mask = Register::K0 + number;
                if let Ok(ones) = Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, mask, mask, mask) {
                    code.extend(encode(&ones));
                }
            }
        }
        if self.gathers() {
            // vpxor xmm13, xmm13, xmm13
            code.extend([0xc4, 0x41, 0x11, 0xef, 0xed]);
        }
        // Memory without a name lies where the other does.
        let mut factory = InstructionInfoFactory::new();
        for memory in factory.info(&self.sample).used_memory() {
            let base = memory.base();
            if base.is_gpr64() && !self.has_memory() && !self.is_address() {
                code.extend(encode(&crate::code::copy(base, Register::R14)));
            }
        }
        if self.mnemonic().starts_with("xlat") {
            // xor eax, eax
            code.extend([0x31, 0xc0]);
        }
        code
    }

    /// What 8 bytes of vector registers should hold: numbers that neither grow nor vanish.
    pub(crate) fn vector(&self) -> u64 {
        const DOUBLE: u64 = 0x3ff0_0000_1234_5678;
        let name = self.mnemonic();
        if name.ends_with("sd")
            || name.ends_with("pd")
            || name.contains("cvtsd")
            || name.contains("cvtpd")
        {
            DOUBLE
        } else {
            crate::bench::ONES
        }
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

/// Many instructions.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub code: Vec<u8>,
    /// Instructions for each, that end what would chain it.
    pub breakers: usize,
    /// How many registers take turns where each instruction waits for the last one of its register.
    pub turns: Option<usize>,
}

/// The register of a gather's mask.
const MASK: u32 = 12;

/// Whether this host knows the upper halves of vector registers.
fn has_avx() -> bool {
    #[cfg(target_arch = "x86_64")]
    let found = std::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    let found = false;
    found
}

/// What a register is kept in, and the first of its kind.
fn bank(register: Register) -> (Option<Bank>, Register) {
    match register {
        _ if register.is_gpr8() => (Some(Bank::General), Register::AL),
        _ if register.is_gpr16() => (Some(Bank::General), Register::AX),
        _ if register.is_gpr32() => (Some(Bank::General), Register::EAX),
        _ if register.is_gpr64() => (Some(Bank::General), Register::RAX),
        _ if register.is_xmm() => (Some(Bank::Vector), Register::XMM0),
        _ if register.is_ymm() => (Some(Bank::Vector), Register::YMM0),
        _ if register.is_zmm() => (Some(Bank::Vector), Register::ZMM0),
        _ if register.is_k() => (Some(Bank::Mask), Register::K0),
        _ if register.is_mm() => (Some(Bank::Mmx), Register::MM0),
        _ if register.is_st() => (Some(Bank::X87), Register::ST0),
        _ => (None, Register::None),
    }
}

fn set(instruction: &mut Instruction, index: usize, operand: &Operand, number: u32) {
    let register = match operand.first {
        Register::AL => low_byte(number),
        first => first + number,
    };
    instruction.set_op_register(index as u32, register);
}

fn low_byte(number: u32) -> Register {
    const LOW: [Register; 4] = [Register::AL, Register::CL, Register::DL, Register::BL];
    match LOW.get(number as usize) {
        Some(register) => *register,
        None => Register::SPL + (number - 4),
    }
}

fn decoded(instruction: &Instruction) -> Option<Instruction> {
    let mut encoder = Encoder::new(64);
    encoder.encode(instruction, 0).ok()?;
    let bytes = encoder.take_buffer();
    Some(Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE).decode())
}

fn is_form(instruction: &Instruction, name: &str) -> bool {
    decoded(instruction).is_some_and(|decoded| form(&decoded) == name)
}

fn is_encoded(instruction: &Instruction, name: &str, index: usize) -> bool {
    decoded(instruction).is_some_and(|decoded| {
        let same = decoded.op_register(index as u32) == instruction.op_register(index as u32);
        same && form(&decoded) == name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every seventh form, and some that are made in ways of their own.
    fn some() -> impl Iterator<Item = Form> {
        let special =
            ["add r64 r64", "lea r64 bisd", "mul r64", "vpgatherdd y vm32y y", "fld m32", "fsin"];
        let chosen = move |(index, form): &(usize, Form)| {
            index.is_multiple_of(7) || special.contains(&form.name)
        };
        all().enumerate().filter(chosen).map(|(_, form)| form)
    }

    #[test]
    fn all_kinds_of_forms_are_there_and_none_that_asks_the_system() {
        let names: Vec<&str> = all().map(|form| form.name).collect();
        assert!(names.len() > 5000, "{}", names.len());
        for name in [
            "bt m64 r64",
            "cmpxchg m64 r64",
            "mfence",
            "rdtsc",
            "vtestps y y",
            "fld m32",
            "fsin",
            "xchg r64 r64",
            "vpaddd z z z {k}",
            "vpgatherdd y vm32y y",
            "haddps x m128",
            "movsb",
            "lock add m64 r64",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        for name in [
            "syscall",
            "cpuid",
            "hlt",
            "wrmsr",
            "vmmcall",
            "push r64",
            "std",
            "xgetbv",
            "jmp rel",
            "rep movsb",
        ] {
            assert!(!names.contains(&name), "{name}");
        }
    }

    #[test]
    fn streams_and_links_are_of_their_form_and_leave_what_the_loop_needs() {
        let mut factory = InstructionInfoFactory::new();
        for form in some() {
            if let Some(link) = form.link() {
                let decoded = decoded(&link).unwrap();
                assert_eq!(corun_model::timing::form(&decoded), form.name);
            }
            let Some(pieces) = form.pieces(12) else { continue };
            let code = pieces.concat();
            let mut found = 0;
            for one in Decoder::with_ip(64, &code, 0, DecoderOptions::NONE) {
                assert!(!one.is_invalid(), "{}", form.name);
                found += usize::from(corun_model::timing::form(&one) == form.name);
                let info = factory.info(&one);
                let written = info.used_registers().iter().filter(|it| writes(it.access()));
                for register in written.map(|it| it.register().full_register()) {
                    let is_kept = matches!(register, Register::RSP | Register::R14 | Register::R15);
                    assert!(!is_kept, "{}: {register:?}", form.name);
                }
            }
            assert!(found >= 12, "{}: {found}", form.name);
        }
    }

    #[test]
    fn many_instructions_wait_for_none() {
        let form = all().find(|form| form.name == "vpaddd y y y").unwrap();
        let mut written = Vec::new();
        for piece in form.pieces(9).unwrap() {
            let one = Decoder::with_ip(64, &piece, 0, DecoderOptions::NONE).decode();
            assert!(
                !written.contains(&one.op1_register()) && !written.contains(&one.op2_register())
            );
            written.push(one.op0_register());
        }
        assert!(all().find(|form| form.name == "adc r64 r64").unwrap().is_chained());
    }
}
