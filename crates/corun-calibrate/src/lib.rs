//! Measurement of this host's core as a model, with timed code and without performance counters.
//!
//! Code of known shape runs in a loop; a chain of dependent multiplications of known latency gives the length of a cycle.
//! Fields that cannot be measured keep the value and the source of the nearest model.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod assembly;
mod calibration;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod child;
mod code;
pub mod curve;
mod disturbed;
mod document;
mod error;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod features;
mod figure;
mod forms;
mod interference;
mod measure;
mod memory;
mod model;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
pub mod overlay;
mod routine;
mod spread;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod unsupported;

pub use calibration::{Calibration, calibrate, calibrate_forms};
pub use disturbed::Disturbed;
pub use document::MeasuredCore;
pub use error::CalibrateError;
pub use figure::{Figure, FormFigure};
pub use interference::{
    ImplausibleFit, InterferenceProbe, InterferenceReading, ProbeRings, fit_memory,
};
pub use memory::Memory;
pub use model::{Change, MeasuredModel, base_model, measured_model, overlay_name};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use native::Native;
pub use routine::{Routine, RoutineTimer};
pub use spread::Spread;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use unsupported::Native;
