//! A row of a published suite as a workload: its description beside the function that prepares it,
//! so that a family of similar rows is a table of them.

use std::num::NonZeroUsize;

use crate::{Descriptor, Job, Kernel, Parameters, Workload, WorkloadError};

/// A workload of a suite.
pub(crate) struct RowWorkload {
    pub(crate) descriptor: &'static Descriptor,
    /// As [`Workload::unavailable`].
    pub(crate) unavailable: fn() -> Option<String>,
    /// As [`Workload::prepare`].
    pub(crate) prepare: fn(&Parameters, NonZeroUsize) -> Result<Job, WorkloadError>,
}

impl Workload for RowWorkload {
    fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    fn unavailable(&self) -> Option<String> {
        (self.unavailable)()
    }

    fn prepare(
        &self,
        parameters: &Parameters,
        workers: NonZeroUsize,
    ) -> Result<Job, WorkloadError> {
        (self.prepare)(parameters, workers)
    }
}

/// Runs everywhere.
pub(crate) fn anywhere() -> Option<String> {
    None
}

/// A kernel for each worker, all alike and without parameters.
pub(crate) fn default_kernels<K: Kernel + Default + 'static>(
    _: &Parameters,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| K::default())))
}
