//! Code as a core sees it: what each instruction of a block is made of on this core.
//!
//! Lowering is done once a block, so that the pipeline follows indices and asks nothing of names.

mod idiom;
mod lower;
mod operands;
mod register;
mod slots;
mod uop;

pub use lower::{Lowering, Unknown};
pub(crate) use register::{REGISTERS, RegisterId};
pub(crate) use uop::{
    DecodedBlock, DecodedInstruction, Effect, Kind, Memory, PortSet, Source, Uop,
};
