//! Traces of real programs, the trace format, and its conversions.

mod convert;
#[cfg(all(feature = "dynamorio", target_os = "linux", target_arch = "x86_64"))]
mod dynamorio;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
mod format;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod oracle;
mod patches;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod slow_run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod source_place;
