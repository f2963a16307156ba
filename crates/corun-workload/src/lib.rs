//! The built-in workloads: programs whose behaviour on a shared core is known, so that a machine
//! can be measured without bringing a program along. Each is one file below `registry/` and
//! describes itself; none of them looks at a clock, since timing belongs to the caller.

mod about;
mod available;
mod caches;
mod checksum;
mod cycle;
mod error;
mod generated;
mod in_memory;
mod memory;
mod parameters;
mod places;
mod quantity;
mod registry;
mod scratch;
mod workload;

pub use about::{About, Choice, Domain, LineSharing, Mode, Parameter, Tag, Usual};
pub use available::expect_copies;
pub use error::WorkloadError;
pub use parameters::{Parameters, size};
pub use registry::{all, find};
pub use scratch::remove_abandoned_scratch;
pub use workload::{Job, Kernel, MOST_OPERATIONS, Program, Workload};
