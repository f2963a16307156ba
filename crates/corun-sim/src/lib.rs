//! The simulated core: how many cycles a program takes on a core that is not at hand, and where they go.
//!
//! A [`CoreModel`](corun_model::CoreModel) says what the core has, a [`TimingTable`](corun_model::timing::TimingTable) what
//! each form of instruction needs, and a trace what the program executes.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod branch;
mod circle;
pub mod code;
mod core;
mod divided;
mod error;
mod in_step;
mod machine;
mod memory;
mod order;
mod outcome;
mod parallel;
pub mod plausible;
mod recorded;
pub mod seating;
mod simulate;
mod sliced;
mod steady;
mod together;
mod watch;
mod windows;

pub use circle::Circle;
pub use core::{CycleStack, Occupancy, Stuck, StuckThread};
pub use error::SimulationError;
pub use memory::{PageSize, Requests};
pub use outcome::{Outcome, Spread};
pub use parallel::in_parallel;
pub use simulate::{Part, Simulated, simulate};
pub use steady::{Copies, steady_state};
pub use together::{Phase, Process, Seated, Setup, simulate_together};
pub use windows::{Noticed, Piece, SimulatedWindow, SimulatedWindows, StandsFor, simulate_windows};
