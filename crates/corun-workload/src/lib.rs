//! The built-in workloads: programs whose behaviour on a shared core is known, so that a machine
//! can be measured without bringing a program along. Each is one file below `registry/` and
//! describes itself; none times its run, which belongs to the caller. Those that replay a load time each request.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod available;
mod caches;
mod checksum;
mod child;
mod cycle;
mod descriptor;
mod document;
mod ended;
mod error;
mod generated;
mod in_memory;
mod latency;
mod load;
mod loopback;
mod memory;
mod parameters;
mod peer;
mod places;
mod quantity;
mod registry;
mod scratch;
mod semaphore;
mod workload;

pub use available::expect_copies;
pub use corun_record::{DefaultMode as Mode, DefaultPlacement};
pub use descriptor::{
    Choice, Descriptor, Domain, Figure, LineSharing, MAX_TALLIES, Parameter, Row, Suite, Tag, Tally,
};
pub use document::description;
pub use ended::unless_ended;
pub use error::{LoadMismatch, WorkloadError};
pub use latency::{Histogram, Latencies};
pub use parameters::{Parameters, size};
pub use registry::{all, find, of_suite};
pub use scratch::remove_abandoned_scratch;
pub use workload::{Job, Kernel, MAX_OPERATIONS, Program, ProgramSize, Workload};
