//! Doctor: what would spoil a measurement on this machine, each with its evidence and with what to do.
//!
//! A check is a function of texts that the kernel gave, so a captured tree can be examined too;
//! only what has to be watched for a moment (load, interrupts) needs the live machine.

mod check;
mod control_groups;
mod cpu_quota;
mod drawing;
mod interrupts;
mod registry;
mod report;
mod smt_vulnerabilities;
mod system;
mod watch;
pub(crate) mod words;

pub(crate) use cpu_quota::{CpuQuota, cpu_quota};
pub use drawing::draw;
pub use report::{Advice, Diagnosis, Evidence, Report, Severity};
pub use smt_vulnerabilities::{Exposure, SmtVulnerability};
pub use watch::{Pause, Sleep};
