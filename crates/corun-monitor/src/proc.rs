//! The files of `/proc`, read below a root: the times of CPUs, and the states of tasks.

mod cpus;
mod files;
mod hidden;
mod stat;

pub(crate) use cpus::{Accounts, CpuUse, Range};
pub(crate) use files::{ProcFiles, Task, TaskFiles};
pub(crate) use hidden::hides_tasks;
pub(crate) use stat::Stat;
