//! This host's core as a model: measured with timed code, without counters.
//!
//! Code of known shape runs in a loop; a chain of dependent multiplications beside it tells how long a
//! cycle is. What cannot be measured stays that of the nearest model, and is said to.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]
#![warn(unreachable_pub)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod apart;
mod assembly;
mod bench;
mod calibration;
mod cannot;
mod code;
pub mod curve;
mod disturbed;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod features;
mod figure;
mod forms;
mod measure;
mod memory;
mod model;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
pub mod overlay;
mod spread;
mod surroundings;

pub use bench::{Bench, Routine};
pub use calibration::{Calibration, calibrate, calibrate_forms};
pub use cannot::Cannot;
pub use disturbed::Disturbed;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::Native;
pub use figure::{Figure, FormFigure};
pub use memory::Memory;
pub use model::{Change, MeasuredModel, measured_model, overlay_name};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use native::Native;
pub use spread::Spread;
pub use surroundings::{Circles, Seen, Surroundings, fitted};
