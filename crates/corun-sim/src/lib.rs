//! The simulated core: how many cycles a program takes on a core that is not available, and where they go.
//!
//! A [`CoreModel`](corun_model::CoreModel) says what the core has, a [`TimingTable`](corun_model::timing::TimingTable) what
//! each form of instruction needs, and a trace what the program executes.
//!
//! A core is made of units, as in llvm-mca: each owns its state, and the stages of `core` call its operations. Modules
//! import in one direction, each from those before it: `sharing`, `memory`, `uops`, `parameters`, the units in the order of
//! the pipeline (`frontend`, `rename`, `execute`, `lsq`, `retire`), `core` with its stages, and then what runs cores. The
//! test `tests/it/directions.rs` holds them to it.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod comparison;
mod core;
mod error;
mod execute;
mod frontend;
mod lsq;
mod machine;
mod memory;
mod outcome;
mod parallel;
mod parameters;
pub mod plausible;
mod pointer_chase;
mod progress;
mod rename;
mod replay;
mod retire;
mod sampling;
mod sharing;
mod simulate;
mod spread;
mod steady;
pub mod thread_mapping;
mod together;
pub mod uops;

pub use comparison::Comparison;
pub use core::{CycleStack, Deadlock, DeadlockedThread, Occupancy};
pub use corun_record::{PageSize, Unwatched};
pub use error::SimulationError;
pub use outcome::Outcome;
pub use parallel::in_parallel;
pub use pointer_chase::PointerChaseRing;
pub use sampling::{
    AttributedInstruction, ChosenPoint, EventCounts, MAX_LAG, Mode, Piece, Recording, Refills,
    SampledRun, Sibling, SimulatedSection, SimulatedWindow, SimulatedWindows, SimulationWeight,
    Step, WindowSimulation, simulate_refills,
};
pub use simulate::{Part, Simulated, simulate};
pub use spread::Spread;
pub use steady::{Copies, steady_state};
pub use together::{Phase, PlacedWorker, Process, Setup, simulate_together};
