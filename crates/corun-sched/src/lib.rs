//! The kernel's scheduler, modelled: which task runs where, under which policy, and what that costs where
//! siblings slow each other down.
//!
//! A [`Load`] of tasks is [`schedule`]d by a policy of [`policy::ALL`] on a [`Topology`].
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod costs;
mod document;
mod engine;
mod error;
pub mod load;
mod outcome;
mod pairs;
pub mod policy;
pub mod program;
mod slowdowns;
mod topology;

pub use costs::Costs;
pub use document::catalogue;
pub use engine::{Observer, RunInterval, Settings, State, Task, TaskId, schedule};
pub use error::ScheduleError;
pub use outcome::{CoreUse, CpuUse, Migrations, Outcome, Percentiles, Scheduled};
pub use pairs::{Pairs, kind};
pub use program::Load;
pub use slowdowns::{Ratio, Slowdowns};
pub use topology::{Distance, LogicalCpu, Topology};
