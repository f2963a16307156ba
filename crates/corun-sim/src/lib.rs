//! The simulated core: how many cycles a program takes on a core that is not available, and where they go.
//!
//! A [`CoreModel`](corun_model::CoreModel) says what the core has, a [`TimingTable`](corun_model::timing::TimingTable) what
//! each form of instruction needs, and a trace what the program executes.
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
pub mod plausible;
mod pointer_chase;
mod progress;
mod rename;
mod replay;
mod retire;
mod sampling;
mod sharing;
mod simulate;
mod steady;
pub mod thread_mapping;
mod together;
pub mod uops;

pub use comparison::Comparison;
pub use core::{CycleStack, Deadlock, DeadlockedThread, Occupancy};
pub use corun_record::{PageSize, Unwatched};
pub use error::SimulationError;
pub use outcome::{Outcome, Spread};
pub use parallel::in_parallel;
pub use pointer_chase::PointerChaseRing;
pub use sampling::{
    ChosenPoint, EventCounts, MAX_LAG, Mode, Piece, Recording, Refills, SampledRun, Sibling,
    SimulatedSection, SimulatedWindow, SimulatedWindows, SimulationWeight, WindowSimulation,
    simulate_refills,
};
pub use simulate::{Part, Simulated, simulate};
pub use steady::{Copies, steady_state};
pub use together::{Phase, PlacedWorker, Process, Setup, simulate_together};
