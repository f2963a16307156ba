//! The errors of running a block: faults of the block, or of this host.

use std::{fmt, io};

use corun_record::{Actionable, Exit};
use corun_trace::NotCode;

/// The error that ends the execution of a block.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// Bytes that are no code.
    #[error(transparent)]
    NotCode(#[from] NotCode),
    /// Unrolled, it does not fit.
    #[error("expected at most {limit} bytes of unrolled code, found {bytes}")]
    TooLarge {
        /// Bytes of all its copies.
        bytes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// An instruction that is not executed, since it leaves user mode.
    #[error(
        "expected instructions that stay inside the program, found `{instruction}` at byte {at}, \
         which {what}"
    )]
    Refused {
        /// Mnemonic of the instruction.
        instruction: String,
        /// The instruction's first byte in the block.
        at: usize,
        /// Effect that it would have.
        what: &'static str,
    },
    /// It does not go on with the next instruction.
    #[error(
        "expected straight-line code, found that the instruction at byte {at} goes to {to:#x} \
         (iteration {iteration})"
    )]
    Leaves {
        /// The instruction's first byte in the block.
        at: usize,
        /// Target of the jump.
        to: u64,
        /// Counted from 0.
        iteration: usize,
    },
    /// An instruction faults, and mapping a page does not help.
    #[error("expected no fault, found {fault} at byte {at} (iteration {iteration})")]
    Faults {
        /// The instruction's first byte in the block.
        at: usize,
        /// Counted from 0.
        iteration: usize,
        /// The fault.
        fault: Fault,
    },
    /// It touches too many pages.
    #[error("expected at most {limit} pages of memory, found more")]
    TooManyPages {
        /// The most there may be.
        limit: usize,
    },
    /// It executes too much, a repetition for instance.
    #[error("expected at most {limit} steps, found more")]
    TooManySteps {
        /// The most there may be.
        limit: u64,
    },
    /// It takes too long.
    #[error("expected at most {seconds} seconds of CPU time, found more")]
    TooSlow {
        /// The most there may be.
        seconds: u64,
    },
    /// The clock changed during every group of samples.
    #[error("expected a clock that keeps still for a moment, found none in {groups} moments")]
    Unsteady {
        /// Groups of samples.
        groups: usize,
    },
    /// No two processes in which it was timed found the same.
    #[error(
        "expected the same time in two of {processes} processes, found {least:.2} to {most:.2} cycles"
    )]
    Differs {
        /// Cycles of an iteration in the process that found the fewest.
        least: f64,
        /// Cycles in the one that found the most.
        most: f64,
        /// Processes that found a time.
        processes: usize,
    },
    /// Nothing is wrong with the block: no block can be run here.
    #[error("expected to be allowed to run a confined child, found that {what} fails: {source}")]
    Host {
        /// Operation that was tried.
        what: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
}

/// Fault that the core raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Memory at an address that cannot be mapped.
    Address(u64),
    /// A store to the block's own code.
    OwnCode(u64),
    /// A privileged instruction, an operand that must be aligned and is not, an address that is not
    /// canonical, or a wrong value for a control register.
    GeneralProtection,
    /// An instruction that this core does not have.
    UnknownInstruction,
    /// A division by zero or with too large a quotient, or an unmasked floating-point exception.
    Arithmetic,
    /// An access that is not aligned, with the flag set that forbids it, or one of the stack to an
    /// address that is not canonical.
    Alignment,
    /// A breakpoint or trap.
    Trap,
    /// Another signal.
    Signal(i32),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(formatter, "an access to {address:#x}, which cannot be mapped"),
            Self::OwnCode(address) => write!(formatter, "a store to the code itself, at {address:#x}"),
            Self::GeneralProtection => formatter.write_str(
                "a general protection fault (privileged, unaligned, or an address that is not canonical)",
            ),
            Self::UnknownInstruction => {
                formatter.write_str("an instruction that this core does not have")
            }
            Self::Arithmetic => formatter.write_str("an arithmetic exception"),
            Self::Alignment => formatter.write_str("a bus error (unaligned, or a stack that is not canonical)"),
            Self::Trap => formatter.write_str("a trap"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

impl Actionable for BlockError {
    fn exit(&self) -> Exit {
        match self {
            Self::Host { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => Exit::NotPermitted,
                _ => Exit::NotPossible,
            },
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Host { .. } => {
                "Blocks need Linux on x86-64, and a container or policy that allows ptrace, seccomp \
                 and files in memory."
            }
            Self::Unsteady { .. } | Self::Differs { .. } => {
                "Try again while nothing else runs, or fix the clock; `corun doctor` says what is \
                 running."
            }
            _ => "Give a block that runs from its first instruction to its last and on.",
        }
        .to_owned()
    }
}
