//! Experiment design, randomised blocks, running, statistics, verdict.
//!
//! The way of a measurement: a [`Request`] is laid out as arms on this machine ([`layout`]), an
//! executor runs them in random order ([`experiment`], [`execution`]), and the samples become
//! observations with a verdict ([`analysis`], [`corun_stats`]).
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod analysis;
pub mod attainable;
pub mod caveats;
pub mod comparison;
pub mod cores;
mod cpu_use;
mod evidence;
pub mod execution;
pub mod experiment;
mod file_content;
pub mod foreign_load;
pub mod hyperfine;
mod initial_state;
pub mod layout;
mod measurement;
mod prepared;
mod quantities;
mod request;
mod resume;
mod sentences;
pub mod series;
mod slurm_binding;
mod standalone;
mod stopping;
pub mod suite;
pub mod sweep;
#[cfg(test)]
mod testing;

pub use initial_state::InitialState;
pub use measurement::{Forecast, Forecaster, MeasureError, Measurement, host, machine_summary};
pub use prepared::PreparedWork;
pub use request::{CommandRequest, Request, RequestError, ServiceRequest, WorkRequest};
pub use resume::{Differs, Earlier};
pub use standalone::{StandaloneRequest, StandaloneWorkload, WorkSize, works_together};
pub use stopping::PlannedAnalyses;
