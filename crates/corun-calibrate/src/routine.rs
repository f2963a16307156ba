//! Routines that can be timed, and the trait that times them, so that the evaluation of times is tested without a
//! core.

use crate::{CalibrateError, Memory, Spread};

/// Code that is run many times over, and what it finds in registers and memory.
///
/// It may use every register but the stack pointer, which it leaves as it was, and `r15`, which counts.
/// `r14` holds the address of its memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Routine {
    /// Purpose in words.
    pub name: String,
    /// Code that runs once, before the first iteration.
    pub setup: Vec<u8>,
    /// One iteration, machine code that may stand anywhere.
    pub body: Vec<u8>,
    /// Instructions that an iteration times; figures are cycles of one of them.
    pub count: f64,
    /// Value of every 8 bytes of a vector register at the start.
    pub vector: u64,
    /// Memory that it reads and writes.
    pub memory: Memory,
}

/// The timing of routines on a core.
pub trait RoutineTimer {
    /// Core cycles that one of what the routine counts takes.
    ///
    /// # Errors
    /// If the core's clock never keeps still, or memory is refused.
    fn time(&mut self, routine: &Routine) -> Result<Spread, CalibrateError>;

    /// Time of code that may fail: apart from this process, if it can. None if it failed, or never ended.
    ///
    /// # Errors
    /// If the system refuses to start it.
    fn time_apart(&mut self, routine: &Routine) -> Result<Option<Spread>, CalibrateError> {
        self.time(routine).map(Some)
    }

    /// True if this core has what the instruction needs.
    fn knows(&self, instruction: &iced_x86::Instruction) -> bool;
}

/// 1 in single precision, twice: neither that nor its double is denormal.
pub(crate) const ONES: u64 = 0x3f80_0001_3f80_0001;

impl Routine {
    /// With so many of what is measured in its body, a page of memory.
    pub fn new(name: impl Into<String>, body: Vec<u8>, count: usize) -> Self {
        Self {
            name: name.into(),
            setup: Vec::new(),
            body,
            count: count as f64,
            vector: ONES,
            memory: Memory::default(),
        }
    }

    /// With this memory.
    pub fn with_memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }
}
