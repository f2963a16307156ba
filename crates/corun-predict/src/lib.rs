//! The prediction of a program's run time on a core, with an interval and the causes of its cycles.
//!
//! The program is traced, windows of the trace are simulated on a core model, and their cycles are extrapolated to the
//! whole run. Native runs on this host, without a tracer, are measured for comparison.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod attribution;
mod error;
mod estimate;
mod extrapolation;
mod hardware;
mod job;
mod limit;
mod native;
mod predict;
mod request;
mod sampling;
mod siblings;
mod stages;
mod sweep;
mod yield_records;

pub use error::PredictError;
pub use estimate::{over, with_error};
pub use extrapolation::extrapolated;
pub use hardware::{HostSiblings, SiblingSource, Slice, on_siblings};
pub use job::{Beside, Core, Job, MemoryOf};
pub use limit::TimeLimit;
pub use native::{MeasureError, Measured, measure};
pub use predict::{RecordedJob, predict};
pub use request::{
    CoreVariant, Measuring, PredictRequest, PredictRequestError, PreparedPrediction,
    ProgramRequest, StandardInput, TracedProgram,
};
pub use sampling::{Effort, Sampling};
pub use siblings::{sibling_clock, with_model_error};
pub use stages::{MeasureSiblings, PredictedTrace, Workers, predict_trace};
pub use sweep::{SweepObserver, SweepRequest, SweptProgram, core_variants, values_of};
pub use yield_records::{recorded_core, yield_records};
