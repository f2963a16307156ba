//! Monitor of a machine: the capacity used, and which tasks run beside each other.
//!
//! A [`Source`] gives one [`corun_record::Activity`] an interval: the live system ([`System`]) or a recording. The
//! live view, the metrics endpoint and recordings read nothing else, so that they show the same figures.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod capacity;
mod co_busy;
mod command_watch;
mod descendants;
mod error;
pub mod exporter;
mod playback;
mod proc;
mod recording;
pub mod screen;
mod source;
pub mod synthetic;
mod system;
mod tasks;

pub use capacity::{
    AtHalf, CapacityMeasurement, CapacityRequest, Curve, CurveDesign, PredictedMachine,
    UsedCapacity, capacity_use, curve_of, predicted_curve, work_bounds, work_rate, yields_of,
};
pub use command_watch::CommandWatch;
pub use error::MonitorError;
pub use playback::Playback;
pub use recording::{Recorded, Recorder, Replay};
pub use source::{Source, Tasks};
pub use system::{Options, System};
