//! Places of several workers in one block of memory, as far apart as asked: what neighbours cost
//! one another depends on where their data lie, so the distances must be exact.

use std::num::NonZeroUsize;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use memmap2::MmapMut;

use crate::{WorkloadError, memory};

/// Bytes of a word.
pub(crate) const WORD: u64 = size_of::<AtomicU32>() as u64;

/// Some words of one worker, in lines that other workers' words may lie in too.
pub(crate) struct Place {
    block: Arc<MmapMut>,
    start: usize,
    words: usize,
}

impl Place {
    /// The words, from the beginning of the place.
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: the words lie inside the block, aligned, as `places` made them; any four bytes are
        // a number, and all processes reach the block through atomics only.
        unsafe { slice::from_raw_parts(self.block.as_ptr().add(self.start).cast(), self.words) }
    }
}

/// A place of `words` words for each worker, `apart` bytes, a multiple of 4, from one beginning to
/// the next, the first at the start of a page. Places do not overlap.
pub(crate) fn places(
    workload: &'static str,
    apart: u64,
    words: usize,
    workers: NonZeroUsize,
) -> Result<Vec<Place>, WorkloadError> {
    assert!(words as u64 * WORD <= apart && apart.is_multiple_of(WORD));
    let block = memory::map_sparsely(workload, apart.saturating_mul(workers.get() as u64))?;
    let block = Arc::new(block);
    let place = |start| Place { block: Arc::clone(&block), start, words };
    Ok((0..block.len()).step_by(apart as usize).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_as_far_apart_as_asked_from_the_start_of_a_page() {
        for apart in [8, 24, 128, 65_664] {
            let places = places("test", apart, 2, NonZeroUsize::new(3).unwrap()).unwrap();
            let starts: Vec<u64> =
                places.iter().map(|place| place.words().as_ptr().addr() as u64).collect();
            assert_eq!(starts[0] % 4096, 0);
            let distances: Vec<u64> = starts.iter().map(|start| start - starts[0]).collect();
            assert_eq!(distances, [0, apart, 2 * apart]);
            assert!(places.iter().all(|place| place.words().len() == 2));
        }
    }
}
