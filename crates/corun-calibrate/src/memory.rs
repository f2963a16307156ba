//! The memory of a routine: what it holds, and on pages of which size.

use corun_sim::PointerChaseRing;

/// Memory that a routine finds at `r14`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Memory {
    /// One page that holds the address of the byte in its middle everywhere, as `rax` does.
    #[default]
    Page,
    /// After a page, a pointer-chase ring: addresses in random order, each that of the next; `rax` points into it. With a
    /// second ring after the first, `rcx` points into that one.
    Ring {
        /// Places.
        places: usize,
        /// Bytes from one to the next.
        apart: usize,
        /// Rings.
        rings: usize,
        /// True if small pages hold it.
        on_small_pages: bool,
    },
}

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// Bytes of a line, on every core of x86-64.
pub(crate) const LINE: usize = 64;

impl Memory {
    /// Bytes that it takes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Page => PAGE,
            Self::Ring { places, apart, rings, .. } => PAGE + places * apart * rings,
        }
    }

    /// True if it must lie on small pages.
    pub fn is_on_small_pages(self) -> bool {
        matches!(self, Self::Ring { on_small_pages: true, .. })
    }

    /// Fills words that begin at this address; returns what `rax` and `rcx` hold at the start.
    pub fn fill(self, words: &mut [u64], address: u64) -> [u64; 2] {
        match self {
            Self::Page => {
                let middle = address + PAGE as u64 / 2;
                words[..PAGE / 8].fill(middle);
                [middle, 1 << 32 | 3]
            }
            Self::Ring { places, apart, rings, .. } => {
                let ring = PointerChaseRing { places: places as u32, apart: apart as u32 };
                let start = |number: usize| {
                    let first = number as u32 * ring.places;
                    // The first page is for what a routine loads and stores besides.
                    let byte = |place: u32| PAGE + ring.offset(first + place) as usize;
                    for (place, next) in (0..).zip(ring.order(number as u64)) {
                        words[byte(place) / 8] = address + byte(next) as u64;
                    }
                    address + byte(0) as u64
                };
                let starts: Vec<u64> = (0..rings).map(start).collect();
                [starts[0], starts.get(1).copied().unwrap_or(3)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_ring_visits_all_its_places(
            places in 1usize..200,
            apart in prop_oneof![Just(64usize), Just(128), Just(4096)],
            rings in 1usize..3,
        ) {
            let memory = Memory::Ring { places, apart, rings, on_small_pages: false };
            let mut words = vec![0; memory.bytes() / 8];
            let starts = memory.fill(&mut words, 1 << 20);
            for start in &starts[..rings] {
                let (mut at, mut seen) = (*start, 0);
                loop {
                    at = words[(at - (1 << 20)) as usize / 8];
                    seen += 1;
                    if at == *start {
                        break;
                    }
                }
                prop_assert_eq!(seen, places);
            }
        }
    }
}
