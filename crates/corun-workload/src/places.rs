//! Places of several workers in one block of memory, as far apart as asked: what neighbours cost
//! one another depends on where their data lie, so the distances must be exact.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use memmap2::MmapMut;

use crate::{WorkloadError, memory};

/// Some bytes of one worker, reached as words that other workers may share lines with.
pub(crate) struct Place {
    block: Arc<MmapMut>,
    start: usize,
    bytes: usize,
}

impl Place {
    /// The word `offset` bytes, a multiple of 4, from the beginning of the place.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.bytes);
        // SAFETY: the word lies inside the block, aligned, as `places` made it, and everybody
        // reaches the block through atomics only.
        unsafe {
            AtomicU32::from_ptr(self.block.as_ptr().add(self.start + offset).cast_mut().cast())
        }
    }
}

/// A place of `bytes` bytes for each worker, `apart` bytes, a multiple of 4, from one beginning to
/// the next, the first at the start of a page. Places do not overlap: `bytes` is at most `apart`.
pub(crate) fn places(
    workload: &'static str,
    apart: u64,
    bytes: u64,
    workers: NonZeroUsize,
) -> Result<Vec<Place>, WorkloadError> {
    assert!(bytes <= apart && apart.is_multiple_of(4));
    let block = memory::map(workload, apart.saturating_mul(workers.get() as u64))?;
    let block = Arc::new(block);
    let place = |start| Place { block: Arc::clone(&block), start, bytes: bytes as usize };
    Ok((0..block.len()).step_by(apart as usize).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_as_far_apart_as_asked_from_the_start_of_a_page() {
        for apart in [8, 24, 128, 65_664] {
            let places = places("test", apart, 8, NonZeroUsize::new(3).unwrap()).unwrap();
            let starts: Vec<u64> =
                places.iter().map(|place| place.word(0).as_ptr().addr() as u64).collect();
            assert_eq!(starts[0] % 4096, 0);
            let distances: Vec<u64> = starts.iter().map(|start| start - starts[0]).collect();
            assert_eq!(distances, [0, apart, 2 * apart]);
            assert_eq!(places[2].word(4).as_ptr().addr() as u64, starts[2] + 4);
        }
    }
}
