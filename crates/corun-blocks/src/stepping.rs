//! Which addresses a block touches: its copies stepped one instruction at a time.
//!
//! An instruction that leaves the block, or that asks for what a block may not have, is seen before it
//! can do anything with it.

use std::collections::BTreeSet;

use corun_trace::{Step, decode};
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use libc::user_regs_struct;

use crate::confined::{Confined, Stop};
use crate::execution::FEWEST_ITERATIONS;
use crate::inspection::inspect;
use crate::layout::{CODE, check_size};
use crate::{BlockError, Execution, Fault};

/// The most steps of all iterations together.
const MAX_STEPS: u64 = 1 << 17;

/// Executes a block unrolled so many times, in a confined child. Of a block that comes to a fault after some iterations
/// (its addresses may depend on what it stored), those before it are kept if they are ten or more.
///
/// # Errors
/// If the block is not code, does not stay in its straight line, faults before, takes too long, or if no child
/// can be confined here.
pub fn execute(code: &[u8], iterations: usize) -> Result<Execution, BlockError> {
    execution(code, iterations, false)
}

/// As before for a core that need not be this host's: an instruction that this host lacks is stepped over. What it touches is
/// known, since its address is calculated before it is executed; what it would have written is not, and stays as it was.
///
/// # Errors
/// As [`execute`], but for instructions that this host lacks.
pub fn execute_for_any_core(code: &[u8], iterations: usize) -> Result<Execution, BlockError> {
    execution(code, iterations, true)
}

fn execution(code: &[u8], iterations: usize, steps_over: bool) -> Result<Execution, BlockError> {
    let block = decode(CODE, code)?;
    let uses = inspect(code)?;
    let mut execution = Execution::new(block);
    let bytes = code.len().saturating_mul(iterations);
    check_size(bytes)?;
    let unrolled = code.repeat(iterations);
    let mut child = Confined::new(&unrolled, uses, None)?;
    child.prepare()?;
    let start = child.registers_at_start();
    child.set_registers(&start)?;
    let mut stepping =
        Stepping { child, registers: start, code, steps: 0, steps_over, missing: BTreeSet::new() };
    for instruction in Step::decode(CODE, &unrolled)? {
        match stepping.over(&instruction, &mut execution.values) {
            Err(BlockError::Faults { iteration, .. }) if iteration >= FEWEST_ITERATIONS => {
                execution.end_before_fault();
                break;
            }
            other => other?,
        }
        if (instruction.end() - CODE).is_multiple_of(code.len() as u64) {
            execution.end_iteration();
        }
    }
    execution.missing = stepping.missing;
    Ok(execution)
}

struct Stepping<'c> {
    child: Confined,
    registers: user_regs_struct,
    /// The block.
    code: &'c [u8],
    steps: u64,
    /// True if instructions that this host lacks are stepped over.
    steps_over: bool,
    /// Mnemonics of those that were.
    missing: BTreeSet<String>,
}

impl Stepping<'_> {
    /// Lets the child execute this instruction, which is its next, and appends what it touches.
    fn over(&mut self, instruction: &Step, values: &mut Vec<u64>) -> Result<(), BlockError> {
        let own = values.len();
        let before = self.registers.rcx;
        instruction.values(self.child.pid(), &self.registers, values).map_err(|error| {
            BlockError::Host { what: "reading the registers of the child", source: error.into() }
        })?;
        let offset = (instruction.address() - CODE) as usize;
        let (iteration, at) = (offset / self.code.len(), offset % self.code.len());
        loop {
            if self.steps == MAX_STEPS {
                return Err(BlockError::TooManySteps { limit: MAX_STEPS });
            }
            self.steps += 1;
            match self.child.step()? {
                Stop::Trapped => {}
                Stop::Mapped => continue,
                Stop::Late => return Err(BlockError::too_slow()),
                Stop::Faulted(fault) => {
                    let missing = match fault {
                        Fault::UnknownInstruction => self.missing_instruction(at),
                        _ => None,
                    };
                    let Some(name) = missing else {
                        return Err(BlockError::Faults { at, iteration, fault });
                    };
                    self.missing.insert(name);
                    self.registers.rip = instruction.end();
                    return self.child.set_registers(&self.registers);
                }
            }
            self.registers = self.child.registers()?;
            match self.registers.rip {
                next if next == instruction.end() => break,
                same if same == instruction.address() && instruction.may_take_several_steps() => {}
                to => return Err(BlockError::Leaves { at, to, iteration }),
            }
        }
        instruction.finish(&mut values[own..], before, self.registers.rcx);
        if instruction.pushes_flags() {
            self.child.hide_trap_flag(&self.registers)?;
        }
        Ok(())
    }

    /// The mnemonic of the instruction at this byte of the block, if another core may have it and it may be stepped over.
    fn missing_instruction(&self, at: usize) -> Option<String> {
        use Mnemonic::{Ud0, Ud1, Ud2};
        let decoded = Decoder::new(64, &self.code[at..], DecoderOptions::NONE).decode();
        let is_of_a_core = !matches!(decoded.mnemonic(), Ud0 | Ud1 | Ud2);
        (self.steps_over && is_of_a_core)
            .then(|| format!("{:?}", decoded.mnemonic()).to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{PAGE, PATTERN, STACK_POINTER};

    fn values(code: &[u8], iterations: usize) -> Vec<Vec<u64>> {
        let execution = execute(code, iterations).unwrap();
        assert_eq!(execution.block, decode(CODE, code).unwrap());
        execution.iterations().map(<[u64]>::to_vec).collect()
    }

    #[test]
    fn registers_and_memory_hold_the_pattern() {
        // mov rcx, [rax]; mov rdx, [rcx+8]; mov rsi, fs:[0x28]
        let code =
            [0x48, 0x8b, 0x08, 0x48, 0x8b, 0x51, 0x08, 0x64, 0x48, 0x8b, 0x34, 0x25, 0x28, 0, 0, 0];
        assert_eq!(values(&code, 1), [[PATTERN, PATTERN + 8, PATTERN + 0x28]]);
    }

    #[test]
    fn vectors_hold_the_pattern() {
        // movq rax, xmm15; mov rcx, [rax+8]; pextrq would need SSE4.1: movhlps xmm0, xmm7;
        // movq rdx, xmm0; mov rcx, [rdx+16]
        let code = [
            0x66, 0x4c, 0x0f, 0x7e, 0xf8, 0x48, 0x8b, 0x48, 0x08, 0x0f, 0x12, 0xc7, 0x66, 0x48,
            0x0f, 0x7e, 0xc2, 0x48, 0x8b, 0x4a, 0x10,
        ];
        assert_eq!(values(&code, 1), [[PATTERN + 8, PATTERN + 16]]);
    }

    #[test]
    fn each_iteration_goes_on_where_the_one_before_ended() {
        // push rax
        let expected = [[STACK_POINTER - 8], [STACK_POINTER - 16], [STACK_POINTER - 24]];
        assert_eq!(values(&[0x50], 3), expected);
        assert_eq!(values(&[0x50], 0), Vec::<Vec<u64>>::new());
    }

    #[test]
    fn all_pages_are_one_physical_page() {
        // mov dword [rbx+0x1000], 0x5000000; mov eax, [rbx]; mov rcx, [rax]
        let code = [0xc7, 0x83, 0, 0x10, 0, 0, 0, 0, 0, 5, 0x8b, 0x03, 0x48, 0x8b, 0x08];
        assert_eq!(values(&code, 1), [[PATTERN + PAGE, PATTERN, 0x500_0000]]);
    }

    #[test]
    fn an_address_beside_the_code_moves_with_the_copy() {
        // mov rax, [rip+0x1000000]
        let code = [0x48, 0x8b, 0x05, 0, 0, 0, 1];
        let first = CODE + 7 + 0x100_0000;
        assert_eq!(values(&code, 3), [[first], [first + 7], [first + 14]]);
    }

    #[test]
    fn a_repeated_store_has_its_iterations() {
        // mov ecx, 3; rep stosb
        let code = [0xb9, 3, 0, 0, 0, 0xf3, 0xaa];
        assert_eq!(values(&code, 2), [[6, PATTERN], [6, PATTERN + 3]]);
        // xor ecx, ecx; rep stosb
        assert_eq!(values(&[0x31, 0xc9, 0xf3, 0xaa], 1), [[0, PATTERN]]);
    }

    #[test]
    fn a_gather_has_the_lanes_that_its_mask_lets_it_load() {
        if !std::is_x86_feature_detected!("avx2") {
            return;
        }
        // vpcmpeqd xmm2, xmm2, xmm2; vpgatherdd xmm0, [rax+xmm1*1], xmm2, twice: the mask is used up
        let gather = [0xc4, 0xe2, 0x69, 0x90, 0x04, 0x08];
        let code = [&[0xc5, 0xe9, 0x76, 0xd2], &gather[..], &gather].concat();
        let lanes = [2 * PATTERN, PATTERN];
        assert_eq!(values(&code, 1), [[4, lanes[0], lanes[1], lanes[0], lanes[1], 0]]);
    }

    #[test]
    fn being_stepped_does_not_show_in_the_flags() {
        // pushfq; pop rax; and eax, 0x100; mov rcx, [rbx+rax]
        let code = [0x9c, 0x58, 0x25, 0, 1, 0, 0, 0x48, 0x8b, 0x0c, 0x03];
        assert_eq!(values(&code, 1), [[STACK_POINTER - 8, STACK_POINTER - 8, PATTERN]]);
    }

    #[test]
    fn iterations_before_a_late_fault_are_kept() {
        // add rcx, rcx; mov rax, [rcx]: the address is none from the 22nd iteration on.
        let doubled = [0x48, 0x01, 0xc9, 0x48, 0x8b, 0x01];
        let execution = execute(&doubled, 30).unwrap();
        assert_eq!(execution.iterations().len(), 21);
        assert_eq!(execution.iterations().last(), Some(&[PATTERN << 21][..]));
        assert_eq!(execution.copies(crate::Vendor::Intel).0, 10);
        // shl rcx, 8; mov rax, [rcx]
        let early = [0x48, 0xc1, 0xe1, 0x08, 0x48, 0x8b, 0x01];
        assert!(matches!(execute(&early, 30), Err(BlockError::Faults { iteration: 2, .. })));
    }

    #[test]
    fn what_this_host_lacks_is_stepped_over_where_the_core_is_another() {
        // vpcmov xmm0, xmm1, [rax+0x40], xmm3, which no core has had since 2015; mov rcx, [rbx+8]; add rbx, 16
        let code = [
            0x8f, 0xe8, 0x70, 0xa2, 0x40, 0x40, 0x30, 0x48, 0x8b, 0x4b, 0x08, 0x48, 0x83, 0xc3, 16,
        ];
        let execution = execute_for_any_core(&code, 2).unwrap();
        let first = PATTERN + 0x40;
        assert!(execution.iterations().eq([[first, PATTERN + 8], [first, PATTERN + 24]]));
        assert_eq!(execution.missing().collect::<Vec<_>>(), ["vpcmov"]);
        let fault = Fault::UnknownInstruction;
        assert!(
            matches!(execute(&code, 2), Err(BlockError::Faults { fault: it, .. }) if it == fault)
        );
        // ud2 is of no core
        assert!(execute_for_any_core(&[0x0f, 0x0b], 1).is_err());
        assert_eq!(execute_for_any_core(&[0x90], 1).unwrap().missing().count(), 0);
    }

    #[test]
    fn a_jump_that_is_not_taken_is_straight_on() {
        // cmp rax, rax; jne +16; jmp +0; mov rcx, [rax]
        let code = [0x48, 0x39, 0xc0, 0x75, 16, 0xeb, 0, 0x48, 0x8b, 0x08];
        assert_eq!(values(&code, 2), [[PATTERN], [PATTERN]]);
    }

    #[test]
    fn hostile_blocks_are_harmless_and_classified() {
        use BlockError::{Faults, Leaves, TooManyPages, TooManySteps};
        let fault = |code: &[u8]| match execute(code, 2) {
            Err(Faults { fault, .. }) => fault,
            other => panic!("{code:02x?}: {other:?}"),
        };
        // mov byte [rip-7], 0x90
        assert_eq!(fault(&[0xc6, 0x05, 0xf9, 0xff, 0xff, 0xff, 0x90]), Fault::OwnCode(CODE));
        // movaps xmm0, [rax+1]
        assert_eq!(fault(&[0x0f, 0x28, 0x40, 1]), Fault::GeneralProtection);
        // mov rcx, 2^63 + 2^48; mov rax, [rcx]
        let far = [0x48, 0xb9, 0, 0, 0, 0, 0, 0, 1, 0x80, 0x48, 0x8b, 0x01];
        assert_eq!(fault(&far), Fault::GeneralProtection);
        // ldmxcsr [rax], whose reserved bits are set
        assert_eq!(fault(&[0x0f, 0xae, 0x10]), Fault::GeneralProtection);
        // xor eax, eax; mov rax, [rax]: the kernel lets some users map the first page.
        match execute(&[0x31, 0xc0, 0x48, 0x8b, 0], 1) {
            Ok(execution) => assert!(execution.iterations().eq([[0]])),
            Err(error) => assert!(matches!(error, Faults { fault: Fault::Address(0), .. })),
        }
        // mov rax, [-8]
        let kernel = [0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff];
        assert!(matches!(fault(&kernel), Fault::Address(_)));
        // xor ecx, ecx; div ecx
        assert_eq!(fault(&[0x31, 0xc9, 0xf7, 0xf1]), Fault::Arithmetic);
        // ud2
        assert_eq!(fault(&[0x0f, 0x0b]), Fault::UnknownInstruction);
        // mov rsp, rcx of above; push rax
        assert_eq!(fault(&[0x48, 0xbc, 0, 0, 0, 0, 0, 0, 1, 0x80, 0x50]), Fault::Alignment);

        let leaves = |code: &[u8]| match execute(code, 2) {
            Err(Leaves { at, to, iteration: 0 }) => (at, to),
            other => panic!("{code:02x?}: {other:?}"),
        };
        assert_eq!(leaves(&[0x90, 0xeb, 0xfe]), (1, CODE + 1));
        assert_eq!(leaves(&[0xc3]), (0, PATTERN));
        assert_eq!(leaves(&[0xff, 0xd0]), (0, PATTERN));
        assert_eq!(leaves(&[0xe9, 0, 0, 0, 0x10]), (0, CODE + 5 + 0x1000_0000));

        // rep stosb, which would not end
        assert!(matches!(
            execute(&[0xf3, 0xaa], 1),
            Err(TooManySteps { .. } | TooManyPages { .. })
        ));
        // lea rax, [rax+0x1000]; mov rcx, [rax]
        let walk = [0x48, 0x8d, 0x80, 0, 0x10, 0, 0, 0x48, 0x8b, 0x08];
        assert!(matches!(execute(&walk, 10_000), Err(TooManyPages { .. })));
        assert!(matches!(execute(&[0x90; 15], 1 << 20), Err(BlockError::TooLarge { .. })));
        assert!(matches!(execute(&[0x48], 1), Err(BlockError::NotCode(_))));
        assert!(matches!(execute(&[], 1), Err(BlockError::NotCode(_))));
        assert!(matches!(execute(&[0x0f, 0x05], 1), Err(BlockError::Refused { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

        /// Whatever the bytes are, the error names the block, not the host.
        #[test]
        fn any_bytes_are_run_or_refused(code in prop::collection::vec(any::<u8>(), 0..24)) {
            match execute(&code, 3) {
                Ok(execution) => prop_assert_eq!(execution.iterations().len(), 3),
                Err(error) => prop_assert!(!matches!(error, BlockError::Host { .. }), "{}", error),
            }
        }
    }
}
