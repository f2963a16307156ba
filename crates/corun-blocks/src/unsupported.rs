//! Hosts that run no code of x86-64, or cannot confine it.

use std::io::ErrorKind;

use corun_machine::Affinity;

use crate::{BlockError, Cycles, Execution};

/// Executes a block unrolled so many times, in a confined child.
///
/// # Errors
/// Always: only Linux on x86-64 can do it.
pub fn execute(_code: &[u8], _iterations: usize) -> Result<Execution, BlockError> {
    Err(not_here())
}

/// As before for a core that need not be this host's.
///
/// # Errors
/// Always: only Linux on x86-64 can do it.
pub fn execute_for_any_core(code: &[u8], iterations: usize) -> Result<Execution, BlockError> {
    execute(code, iterations)
}

/// Times blocks on one CPU, or on any.
#[derive(Debug)]
pub struct Timer;

impl Timer {
    /// A timer for this CPU, if one is given.
    pub fn new(_cpu: Option<Affinity>) -> Self {
        Self
    }

    /// Times a block, unrolled, in a confined child.
    ///
    /// # Errors
    /// Always: only Linux on x86-64 can do it.
    pub fn time(&mut self, _code: &[u8]) -> Result<Cycles, BlockError> {
        Err(not_here())
    }
}

fn not_here() -> BlockError {
    BlockError::Host {
        what: "running code of x86-64 under Linux",
        source: ErrorKind::Unsupported.into(),
    }
}
