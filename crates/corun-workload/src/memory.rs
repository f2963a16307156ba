//! The memory that kernels work on: page-aligned and zeroed, with no page touched before a worker
//! touches it, so that the worker's NUMA node gets it.

use memmap2::MmapMut;

use crate::WorkloadError;

/// Maps `bytes` bytes, more than 0, for `workload`.
pub(crate) fn map(workload: &'static str, bytes: u64) -> Result<MmapMut, WorkloadError> {
    usize::try_from(bytes)
        .map_err(std::io::Error::other)
        .and_then(MmapMut::map_anon)
        .map_err(|source| WorkloadError::NoMemory { workload, bytes, source })
}
