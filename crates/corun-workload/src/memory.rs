//! The memory that kernels work on: aligned and zeroed, with no page touched before a worker touches
//! it, so that the worker's NUMA node gets it. More than the machine has to give is refused before it
//! is mapped, since Linux hands out addresses freely and kills a process when it uses them.

use std::io;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::path::Path;

use memmap2::{Advice, MmapMut};

use crate::{Choice, Domain, Parameter, Parameters, WorkloadError, available};

/// The size of a huge page on x86-64, and on aarch64 with pages of 4 KiB.
const HUGE_PAGE: u64 = 2 << 20;

/// Memory above this size is worth huge pages: 16 small ones fit every first-level TLB.
const SMALL_ENOUGH: u64 = 64 << 10;

/// The size of pages, for workloads where translations matter; most have huge ones by default, so
/// that what they measure is memory alone.
pub(crate) const PAGES: Parameter = Parameter {
    name: "pages",
    summary: "the pages that its memory is made of",
    default: "huge",
    domain: Domain::Choice(&[
        Choice { value: "huge", summary: "2 MiB where the kernel grants it, from 64 KiB on" },
        Choice { value: "small", summary: "the ordinary ones, on most machines of 4 KiB" },
    ]),
};

/// The pages that a [`Memory`] is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    Huge,
    Small,
}

impl Pages {
    /// The value of a parameter like [`PAGES`].
    pub(crate) fn of(
        parameters: &Parameters,
        parameter: &Parameter,
    ) -> Result<Self, WorkloadError> {
        Ok(if parameters.choice(parameter)? == "huge" { Self::Huge } else { Self::Small })
    }
}

/// Maps `bytes` bytes, more than 0, for `workload`.
pub(crate) fn map(workload: &'static str, bytes: u64) -> Result<MmapMut, WorkloadError> {
    ensure_available(workload, bytes)?;
    map_anonymous(bytes).map_err(|source| WorkloadError::NoMemory { workload, bytes, source })
}

/// Maps `bytes` bytes, more than 0, of which `workload` touches few: addresses, not memory.
pub(crate) fn map_sparsely(workload: &'static str, bytes: u64) -> Result<MmapMut, WorkloadError> {
    map_anonymous(bytes).map_err(|source| WorkloadError::NoMemory { workload, bytes, source })
}

/// Maps `bytes` bytes, more than 0, for each of the workers of `workload`, or nothing at all.
pub(crate) fn map_each(
    workload: &'static str,
    workers: NonZeroUsize,
    bytes: u64,
    pages: Pages,
) -> Result<Vec<Memory>, WorkloadError> {
    let total = bytes.saturating_mul(workers.get() as u64);
    ensure_available(workload, total)?;
    let mapped = (0..workers.get()).map(|_| Memory::map(bytes, pages)).collect::<Result<_, _>>();
    mapped.map_err(|source| WorkloadError::NoMemory { workload, bytes: total, source })
}

/// Refuses what this machine cannot give to all workers together.
pub(crate) fn ensure_available(workload: &'static str, bytes: u64) -> Result<(), WorkloadError> {
    match available::share(Path::new("/")) {
        Some(available) if available < bytes => {
            let source = io::Error::new(
                io::ErrorKind::OutOfMemory,
                format!("{} MiB are available for it here", available >> 20),
            );
            Err(WorkloadError::NoMemory { workload, bytes, source })
        }
        _ => Ok(()),
    }
}

/// Memory of one worker, from the start of a page of the kind asked for.
pub(crate) struct Memory {
    map: MmapMut,
    start: usize,
    length: usize,
}

impl Memory {
    fn map(bytes: u64, pages: Pages) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        if pages == Pages::Small || bytes <= SMALL_ENOUGH {
            let map = map_anonymous(bytes)?;
            // A kernel without huge pages refuses, and has small ones anyway.
            let _ = map.advise(Advice::NoHugePage);
            return Ok(Self { map, start: 0, length });
        }
        let whole_pages = bytes.div_ceil(HUGE_PAGE).saturating_mul(HUGE_PAGE);
        let map = map_anonymous(whole_pages.saturating_add(HUGE_PAGE))?;
        let start = map.as_ptr().align_offset(HUGE_PAGE as usize);
        // A kernel without huge pages refuses; then the small ones have to do.
        let _ = map.advise_range(Advice::HugePage, start, whole_pages as usize);
        Ok(Self { map, start, length })
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[self.start..][..self.length]
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..][..self.length]
    }
}

fn map_anonymous(bytes: u64) -> io::Result<MmapMut> {
    usize::try_from(bytes).map_err(io::Error::other).and_then(MmapMut::map_anon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_memory_starts_at_a_huge_page_and_small_memory_at_a_page() {
        for bytes in [1, 64 << 10, (64 << 10) + 1, 2 << 20, (4 << 20) + 64] {
            for (pages, alignment) in [(Pages::Huge, HUGE_PAGE), (Pages::Small, 4096)] {
                let alignment = if bytes <= SMALL_ENOUGH { 4096 } else { alignment };
                let mut memory = Memory::map(bytes, pages).unwrap();
                assert_eq!(memory.len() as u64, bytes);
                assert_eq!(memory.as_ptr() as u64 % alignment, 0, "{bytes} {pages:?}");
                memory.fill(1);
                assert!(memory.iter().all(|&byte| byte == 1));
            }
        }
    }

    #[test]
    fn all_workers_together_get_no_more_than_there_is() {
        let available = available::memory(Path::new("/")).expect("Linux reports it");
        let three = NonZeroUsize::new(3).unwrap();
        let error = map_each("stream", three, available, Pages::Huge).err().unwrap();
        let reported = error.to_string();
        assert!(reported.ends_with("MiB are available for it here"), "{reported}");
    }
}
