//! ChampSim's traces: a record of 64 bytes an instruction, without its code.
//!
//! Written after `inc/trace_instruction.h` and `inc/instruction.h` of ChampSim, which gives the kind of
//! a branch from the registers alone.

mod export;
mod import;
mod record;
mod registers;

pub(super) use export::Records;
pub use import::{ImportError, Imported, import, import_file};
