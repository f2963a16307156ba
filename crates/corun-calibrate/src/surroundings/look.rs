//! Looks at this machine's memory: some hundred milliseconds each, on the CPU of the thread that looks.

use std::hint::black_box;
use std::time::Instant;

use corun_machine::evidence::gigahertz;
use corun_sim::PointerChaseRing;
use memmap2::{Advice, MmapMut, MmapOptions};

use super::{Circles, MOST_MEMORY, Seen};
use crate::memory::PAGE;
use crate::{Cannot, Memory};

/// Loads of a circle that are timed together.
const LOADS: usize = 200_000;
/// Times that a circle is timed which others hardly disturb, and one whose time is theirs: they come in bursts of
/// milliseconds.
const TIMES: usize = 8;
const CONTESTED: usize = 12;

/// Memory that circles are laid into.
#[derive(Debug)]
pub struct Surroundings {
    circles: Circles,
    memory: MmapMut,
}

impl Surroundings {
    /// Room for circles.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn new(circles: Circles) -> Result<Self, Cannot> {
        let length = MOST_MEMORY as usize + 2 * PAGE;
        let system = |source| Cannot::System { what: "mmap", source };
        let memory = MmapOptions::new().len(length).map_anon().map_err(system)?;
        // Programs' pages are small, too.
        let _ = memory.advise(Advice::NoHugePage);
        Ok(Self { circles, memory })
    }

    /// The circles.
    pub fn circles(&self) -> Circles {
        self.circles
    }

    /// What it takes here and now.
    pub fn look(&mut self) -> Seen {
        let Circles { last_level, contested, main, pages } = self.circles;
        // Whoever interrupts what is the core's own only makes it longer.
        let least = |times: Vec<f64>| times.into_iter().fold(f64::INFINITY, f64::min);
        let settling =
            |circle: PointerChaseRing| PointerChaseRing::ROUNDS_TO_SETTLE * circle.places as usize;
        let mean = |times: Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        Seen {
            pages: least(self.follow(pages, settling(pages), TIMES)),
            last_level: least(self.follow(last_level, settling(last_level), TIMES)),
            contested: mean(self.follow(contested, settling(contested), CONTESTED)),
            // Of which caches keep little; its lines come from memory afterwards.
            main: mean(self.follow(main, 2 * LOADS, 1)),
            gigabytes_a_second: self.read(),
        }
    }

    /// Cycles of a load in a circle, behind so many loads, so many times one after the other.
    fn follow(&mut self, circle: PointerChaseRing, warm_up: usize, times: usize) -> Vec<f64> {
        let start = self.lay(circle);
        let loads = (circle.places as usize).min(LOADS);
        let mut place = follow(start, warm_up);
        let mut cycles = || {
            let cycles_a_ns = gigahertz();
            let begin = Instant::now();
            place = follow(place, loads);
            cycles_a_ns * begin.elapsed().as_nanos() as f64 / loads as f64
        };
        let all = std::iter::repeat_with(&mut cycles).take(times).collect();
        black_box(place);
        all
    }

    /// Lays a circle into the memory; returns the exposed address of a place of it.
    fn lay(&mut self, circle: PointerChaseRing) -> usize {
        let address = self.memory.as_ptr().expose_provenance();
        let PointerChaseRing { places, apart } = circle;
        let (places, apart) = (places as usize, apart as usize);
        let memory = Memory::Circle { places, apart, circles: 1, on_small_pages: true };
        // SAFETY: pages are aligned for words, and any bytes are words.
        let (_, words, _) = unsafe { self.memory.align_to_mut::<u64>() };
        memory.fill(words, address as u64)[0] as usize
    }

    /// GB a second of reading all of the memory along two streams, since prefetchers may go less far ahead of one than
    /// the memory could follow.
    fn read(&self) -> f64 {
        // SAFETY: pages are aligned for words, and any bytes are words.
        let (_, words, _) = unsafe { self.memory.align_to::<u64>() };
        let (first, second) = words.split_at(words.len() / 2);
        let begin = Instant::now();
        let pairs = first.iter().zip(second);
        black_box(pairs.fold(0_u64, |sum, (one, other)| sum.wrapping_add(one ^ other)));
        self.memory.len() as f64 / begin.elapsed().as_nanos().max(1) as f64
    }
}

/// Follows addresses, one after the other.
#[inline(never)]
fn follow(mut address: usize, loads: usize) -> usize {
    for _ in 0..loads {
        // SAFETY: each word of the circle holds the exposed address of another one of it.
        address = unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() };
    }
    address
}

#[cfg(test)]
mod tests {
    use corun_model::find;

    use super::*;

    #[test]
    fn what_lies_farther_takes_longer() {
        let circles = Circles::of(&find("zen4").unwrap()).unwrap();
        let seen = Surroundings::new(circles).unwrap().look();
        assert!(seen.last_level > 10.0 && seen.main > seen.last_level, "{seen:?}");
        assert!(seen.contested > 10.0 && seen.pages > 4.0, "{seen:?}");
        assert!(seen.gigabytes_a_second > 0.1, "{seen:?}");
    }

    #[test]
    fn a_circle_leads_through_all_its_places() {
        let circle = PointerChaseRing { places: 100, apart: 64 };
        let mut surroundings =
            Surroundings::new(Circles::of(&find("zen4").unwrap()).unwrap()).unwrap();
        let start = surroundings.lay(circle);
        let mut seen = std::collections::HashSet::new();
        let mut at = start;
        while seen.insert(at) {
            at = follow(at, 1);
        }
        assert_eq!((at, seen.len()), (start, 100));
    }
}
