//! A service: a server that is placed, and a load generator on CPUs of its own that asks it.
//!
//! Each sample has a fresh server: started, awaited until it is ready, asked by the load, and stopped.
//! Throughput and latencies are what the load generator reports.

mod cpus;
mod error;
mod figures;
mod generators;
mod hdr_log;
mod load;
mod readiness;
mod report;
mod sample;

use std::time::Duration;

use corun_machine::CpuSet;

use super::work::Command;

pub use cpus::{CpuSplit, LoadCpus};
pub use error::ServiceError;
pub use figures::{Quantile, TimeUnit};
pub use generators::{Generator, recognised};
pub(super) use load::PreparedLoad;
pub use readiness::Readiness;
pub use report::{LatencySource, LoadReport, Location};
pub(super) use sample::ServiceSample;

/// A server and what asks it.
#[derive(Debug, Clone)]
pub struct Service {
    /// The server; `{workers}` in its arguments becomes the arm's number of workers.
    pub server: Command,
    /// Readiness check: how it is known that it answers.
    pub ready: Readiness,
    /// Time limit of the readiness check.
    pub ready_limit: Duration,
    /// The signal that asks it to stop.
    pub stop_signal: StopSignal,
    /// Time limit of its end.
    pub stop_limit: Duration,
    /// The load generator.
    pub load: Command,
    /// A command on the load's CPUs that fills or warms the server first, and is not counted.
    pub warmup: Option<Command>,
    /// The logical CPUs of the load; empty where it has none of its own.
    pub load_cpus: CpuSet,
    /// Report of the load on what it measured.
    pub report: LoadReport,
}

/// A signal that asks a server to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM, the usual one.
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGKILL, for what handles no signal.
    Kill,
}

impl StopSignal {
    /// Every signal, with its name.
    pub const ALL: [(&str, Self); 4] =
        [("TERM", Self::Term), ("INT", Self::Int), ("QUIT", Self::Quit), ("KILL", Self::Kill)];

    /// Name without `SIG`.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, signal)| *signal == self).map_or("TERM", |(name, _)| name)
    }

    fn number(self) -> libc::c_int {
        match self {
            Self::Term => libc::SIGTERM,
            Self::Int => libc::SIGINT,
            Self::Quit => libc::SIGQUIT,
            Self::Kill => libc::SIGKILL,
        }
    }
}
