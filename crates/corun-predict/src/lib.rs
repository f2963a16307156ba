//! A trace and a core model become observations with reasons.
//!
//! A program is traced, its windows are simulated, and what they take is extrapolated to the whole run;
//! beside it stands what the same program takes on this machine without a tracer.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod error;
mod estimate;
mod native;
mod predict;
mod sampled;
mod sampling;
mod silent;

pub use error::PredictError;
pub use estimate::over;
pub use native::{MeasureError, Measured, measure};
pub use predict::{Job, MemoryOf, Progress, predict};
pub use sampled::extrapolated;
pub use sampling::Sampling;
