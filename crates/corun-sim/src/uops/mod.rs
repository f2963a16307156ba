//! Code as a core sees it: what each instruction of a block is made of on this core.
//!
//! Lowering is done once a block, so that the pipeline follows indices and asks nothing of names.

mod decoded;
mod entries;
mod idiom;
mod in_flight;
mod kind;
mod lower;
mod operands;
mod register;
mod slots;
mod uop;

pub(crate) use entries::{BUFFERS, Buffer, Entries};
pub(crate) use in_flight::{CAPACITY, Handle, InFlightUop, InFlightUops, NEVER, filled};
pub(crate) use kind::{Kind, MAX_PORTS, PortSet};
pub use lower::{Lowering, Unknown};
pub(crate) use register::{REGISTERS, RegisterId};
pub(crate) use uop::{DecodedBlock, DecodedInstruction, Effect, Memory, Outline, Source, Uop};
