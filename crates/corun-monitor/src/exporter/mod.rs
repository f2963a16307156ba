//! Activity of a machine as metrics for Prometheus.
//!
//! A sampler adds up the activities of a [`crate::Source`] in [`Totals`] and puts their text on a [`Page`]. The server
//! and the text file show what is on the page: a scrape reads no file of the system, and changes nothing.

mod cgroups;
mod exposition;
mod page;
mod process;
mod response;
mod sampler;
mod server;
mod smt;
mod totals;

pub use exposition::Exposition;
pub use page::{Format, Page};
pub use process::ProcessUse;
pub use sampler::Sampler;
pub use server::{Limits, Server, ServerError};
pub use smt::SmtReading;
pub use totals::Totals;

use corun_measure::execution::Interrupt;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;

/// Waits until the user wants to stop.
pub fn wait(stop: &Interrupt) {
    let mut stop = [PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
    while poll(&mut stop, PollTimeout::NONE) == Err(nix::errno::Errno::EINTR) {}
}
