//! Description of this machine: topology, caches, allowed CPUs, SMT state, evidence.
//!
//! Every reader takes a root path, so that a captured `/sys` and `/proc` can stand in for the live
//! system, and every parser is a pure function of the text that the kernel gave.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod affinity;
mod boot_line;
mod capture;
mod control_groups;
mod cpu_set;
pub mod descendants;
pub mod doctor;
mod drawing;
mod error;
pub mod evidence;
mod files;
mod finding;
mod hypervisor;
pub mod kernel_clock;
mod limits;
mod machine;
mod memory_policy;
mod out_of_memory;
mod overview;
pub mod probe;
mod processor_state;
mod reading;
pub mod sharing;
mod signature;
mod smt;
pub mod switch;
mod tasks;

pub use affinity::Affinity;
pub use capture::{Capture, CaptureError, Names};
pub use control_groups::{CpuControl, cpu_control};
pub use cpu_set::{CpuSet, CpuSetError, HIGHEST_CPU};
pub use drawing::{draw, draw_svg};
pub use error::MachineError;
pub use files::{FileError, RootFiles, SystemFiles};
pub use finding::{Finding, FindingKind};
pub use limits::{CpuLimit, CpuLimits};
pub use machine::{
    AllowedBy, Cache, CacheType, Clock, Cluster, Core, CoreType, Cpuset, Die, LogicalCpu, Machine,
    NumaNode, Package,
};
pub use memory_policy::MemoryPolicy;
pub use out_of_memory::{count_memory_deaths, memory_death};
pub use overview::overview;
pub use processor_state::ProcessorState;
pub use signature::Signature;
pub use smt::{Smt, SmtControl};
