//! Campaigns: one measurement on many nodes through Slurm.
//!
//! A campaign (a TOML file) becomes a plan of tasks; an engine runs them, each on a node of its own; each leaves
//! a result file in a shared directory, from which documents are collected into the store exactly once.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod answers;
mod attempt;
mod binary;
mod campaign;
mod child;
mod collection;
mod error;
pub mod layout;
pub mod local;
mod overview;
pub mod pilot;
mod plan;
pub mod results;
pub mod slurm;
mod status;
mod submission;

pub use answers::Answers;
pub use attempt::{Runner, TaskEnd, run};
pub use binary::sha256;
pub use campaign::{Budget, Campaign, Nodes, Program, Work};
pub use collection::{campaign_tag, collect};
pub use error::FleetError;
pub use overview::overview;
pub use plan::{CommandPlan, Facts, Job, MAX_ARRAY, Plan, SmtArm, Task};
pub use status::{look, status};
pub use submission::{Submitted, existing, left, prepare, submit};
