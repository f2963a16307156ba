//! The interference probe: a sample takes some hundred milliseconds, on the CPU of the calling thread.

use std::hint::black_box;
use std::time::Instant;

use corun_machine::evidence::gigahertz;
use corun_sim::PointerChaseRing;
use memmap2::{Advice, MmapMut, MmapOptions};

use super::{InterferenceReading, LOADS, MAX_MEMORY, ProbeRings, WARM_UP_OF_MAIN};
use crate::memory::PAGE;
use crate::{CalibrateError, Memory};

/// Repetitions for a ring that is hardly affected by interference, and for the contended one: interference comes in bursts
/// of milliseconds.
const TIMES: usize = 8;
const CONTENDED: usize = 12;

/// The probe, with the memory that its rings lie in.
#[derive(Debug)]
pub struct InterferenceProbe {
    rings: ProbeRings,
    memory: MmapMut,
}

impl InterferenceProbe {
    /// Allocates the memory.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn new(rings: ProbeRings) -> Result<Self, CalibrateError> {
        let length = MAX_MEMORY as usize + 2 * PAGE;
        let system = |source| CalibrateError::System { what: "mmap", source };
        let memory = MmapOptions::new().len(length).map_anon().map_err(system)?;
        // Programs' pages are small, too.
        let _ = memory.advise(Advice::NoHugePage);
        Ok(Self { rings, memory })
    }

    /// The rings.
    pub fn rings(&self) -> ProbeRings {
        self.rings
    }

    /// Times all rings and the bandwidth.
    pub fn sample(&mut self) -> InterferenceReading {
        let ProbeRings { last_level, contended, main, pages } = self.rings;
        // Interference only adds to the core's own latency, so the least time is taken.
        let least = |times: Vec<f64>| times.into_iter().fold(f64::INFINITY, f64::min);
        let warm_up_steps =
            |ring: PointerChaseRing| PointerChaseRing::ROUNDS_TO_SETTLE * ring.places as usize;
        let mean = |times: Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        InterferenceReading {
            pages: least(self.follow(pages, warm_up_steps(pages), TIMES)),
            last_level: least(self.follow(last_level, warm_up_steps(last_level), TIMES)),
            contended: mean(self.follow(contended, warm_up_steps(contended), CONTENDED)),
            main: mean(self.follow(main, WARM_UP_OF_MAIN, 1)),
            gigabytes_a_second: self.read(),
        }
    }

    /// Follows a ring: cycles per load, `times` times, after a warm-up of so many loads.
    fn follow(&mut self, ring: PointerChaseRing, warm_up: usize, times: usize) -> Vec<f64> {
        let start = self.lay(ring);
        let loads = (ring.places as usize).min(LOADS);
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

    /// Lays a ring into the memory; returns the exposed address of a place of it.
    fn lay(&mut self, ring: PointerChaseRing) -> usize {
        let address = self.memory.as_ptr().expose_provenance();
        let PointerChaseRing { places, apart } = ring;
        let (places, apart) = (places as usize, apart as usize);
        let memory = Memory::Ring { places, apart, rings: 1, on_small_pages: true };
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
        // SAFETY: each word of the ring holds the exposed address of another one of it.
        address = unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() };
    }
    address
}

#[cfg(test)]
mod tests {
    use corun_model::find;

    use super::*;

    #[test]
    fn farther_levels_take_longer() {
        let rings = ProbeRings::of(&find("zen4").unwrap()).unwrap();
        let seen = InterferenceProbe::new(rings).unwrap().sample();
        assert!(seen.last_level > 10.0 && seen.main > seen.last_level, "{seen:?}");
        assert!(seen.contended > 10.0 && seen.pages > 4.0, "{seen:?}");
        assert!(seen.gigabytes_a_second > 0.1, "{seen:?}");
    }

    #[test]
    fn a_ring_leads_through_all_its_places() {
        let ring = PointerChaseRing { places: 100, apart: 64 };
        let mut probe =
            InterferenceProbe::new(ProbeRings::of(&find("zen4").unwrap()).unwrap()).unwrap();
        let start = probe.lay(ring);
        let mut seen = std::collections::HashSet::new();
        let mut at = start;
        while seen.insert(at) {
            at = follow(at, 1);
        }
        assert_eq!((at, seen.len()), (start, 100));
    }
}
