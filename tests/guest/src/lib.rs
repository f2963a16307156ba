//! Boots a stock kernel with a real SMT topology under QEMU and runs corun in it.
//!
//! The hardware of the host may have no SMT, or may not let a test switch it; a guest has both. A test
//! describes a [`Guest`], gives it a [`Scenario`], and checks the [`Outcome`].

mod boot;
mod guest;
mod host;
mod host_gain;
mod host_load;
mod initramfs;
mod kernel;
mod outcome;
mod pinning;
mod program;
mod qmp;
mod results;
mod scenario;
mod truth;

pub use guest::{Cpu, Guest, Shape};
pub use host::{Host, Unavailable};
pub use host_load::ForeignLoad;
pub use outcome::{BootError, Outcome};
pub use results::{Results, ResultsError};
pub use scenario::Scenario;
pub use truth::{Control, Finding};
