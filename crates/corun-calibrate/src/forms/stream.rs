//! Streams: many instructions of a form that do not depend on each other, for its throughput.

use iced_x86::{Code, Instruction, Register};

use super::registers::{APART, Choice, PLACES};
use super::{Form, MASK};
use crate::assembly::encode;

/// Many instructions.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub code: Vec<u8>,
    /// Instructions for each, that end what would chain it.
    pub breakers: usize,
    /// Number of registers that take turns where each instruction waits for the last one of its register.
    pub turns: Option<usize>,
}

impl Form {
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
            // fstp st0 after what pushes; fld st0 before what pops.
            (..0, false) => [0xdd, 0xd8].repeat(change.unsigned_abs() as usize),
            (1.., true) => [0xd9, 0xc0].repeat(change as usize),
            _ => Vec::new(),
        }
    }

    /// True if it changes the top of the x87 stack and nothing else.
    pub(super) fn works_on_top(&self) -> bool {
        use iced_x86::Mnemonic::{
            F2xm1, Fabs, Fchs, Fcos, Fprem, Fprem1, Frndint, Fscale, Fsin, Fsqrt,
        };
        matches!(
            self.sample.mnemonic(),
            F2xm1 | Fabs | Fchs | Fcos | Fprem | Fprem1 | Frndint | Fscale | Fsin | Fsqrt
        )
    }

    /// Number of operations of the x87 stack beside it.
    pub(crate) fn stack_operations(&self) -> u32 {
        if self.works_on_top() {
            return 2;
        }
        self.sample.fpu_stack_increment_info().increment().unsigned_abs()
    }

    /// Instructions that end the chains through registers without a name and through flags.
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
}
