//! Blocks of machine code on this host: what they touch in memory, and how long they take.
//!
//! The bytes of a block may be anything. It runs unrolled in a child that has no memory
//! but the block's, no files and no system calls, under the convention of BHive (Chen et al. 2019): all
//! registers and all words of memory are [`PATTERN`], all pages are one physical page.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod agreement;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod confined;
mod core_name;
mod error;
mod execution;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod filter;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod harness;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod inspection;
mod layout;
mod list;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stepping;
mod timed;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod timing;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod unsupported;

pub use agreement::{Agreement, agreement};
pub use core_name::core_name;
pub use error::{BlockError, Fault};
pub use execution::{COPIES, Cycles, Execution, FrontEnd, Vendor};
pub use layout::{PAGE, PATTERN, STACK_POINTER};
pub use list::{ListError, Listed, is_held_out, read_list};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use stepping::{execute, execute_for_any_core};
pub use timed::time_list;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use timing::Timer;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use unsupported::{Timer, execute, execute_for_any_core};
