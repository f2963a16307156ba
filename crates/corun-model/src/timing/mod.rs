//! Timings of each form of instruction, and the ports it needs.
//!
//! A table in `models/timing/` has one row a form (mnemonic, kinds and widths of operands); forms without
//! a row fall back to a class of instructions, and are counted. Port names are the model's.

mod derive;
mod fallback;
mod form;
mod plausible;
mod table;
mod usage;

pub use derive::with_registers;
pub use fallback::Class;
pub use form::form;
pub use plausible::Implausible;
pub use table::{
    ComputeUop, Late, LateSource, Lookup, Origin, Provenance, TableError, Timing, TimingTable,
};
pub use usage::Usage;
