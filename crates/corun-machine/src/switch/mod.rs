//! The switch of SMT, and always giving the machine back as it was.
//!
//! A use of it is an [`SmtSwitch`]: everything is written down before the first change, a watchdog
//! process stands by, and what comes back is verified by reading it. [`change`], [`restore`] and
//! [`Snapshot`] work on any [`System`], so that tests can switch a simulated kernel.

mod access;
mod change;
mod cpus;
mod cpusets;
mod error;
mod irqs;
mod leftovers;
mod refusal;
mod restore;
mod runtime;
mod session;
mod snapshot;
mod status;
mod system;
mod tasks;
mod watchdog;
mod wording;

pub use crate::boot_line::BootArgument;
pub use access::SwitchOptions;
pub use change::{ChangeError, change};
pub use cpusets::CpusetMembers;
pub use error::SwitchError;
pub use leftovers::{Restored, held_from, restore_left};
pub use refusal::{check, is_needed};
pub use restore::restore;
pub use runtime::{Holder, Runtime, State, UNFINISHED};
pub use session::SmtSwitch;
pub use snapshot::{Difference, Snapshot};
pub use status::{
    DependentCpuset, DependentIrq, DependentTask, Dependents, LeftBecause, LeftByCorun, OfflineBy,
    OfflineCpu, SmtStatus,
};
pub use system::System;
pub use tasks::TaskMask;
pub use watchdog::{SUBCOMMAND as WATCHDOG_SUBCOMMAND, serve_as_watchdog};

/// State that a corun has left switched, or is switching right now.
pub fn left_by_corun() -> Option<LeftByCorun> {
    status::left_by_corun(&Runtime::of_system()).map(|(left, _)| left)
}
