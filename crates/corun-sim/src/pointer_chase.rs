//! Pointer-chase rings: addresses each of which leads to the next: what a load takes in one can be timed on any machine, so
//! that the memory of a model can be set beside that of a machine.

use corun_record::PageSize;

use crate::memory::{Chance, Memory, Pages, Request};
use crate::sharing::Requester;
use corun_model::{CoreModel, LINE};

/// Bytes of a small page.
const PAGE: u64 = 4096;
/// A ring with more places is as quick as a part of it in a part of the memory.
const LARGE: u32 = 1 << 15;
/// Divisor of that part.
const PART: u32 = 8;
/// Relative difference between the times of two rounds, once caches hold what they keep of a ring.
const SETTLED: f64 = 0.01;

/// Places in memory, of which each leads to another one until all were visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerChaseRing {
    /// Number of places.
    pub places: u32,
    /// Bytes from one to the next.
    pub apart: u32,
}

impl PointerChaseRing {
    /// Rounds before one that counts, after which caches hold what they keep of it. A last level that is filled by what the
    /// second one drops was seen to take three by itself, and takes more with others in it.
    pub const ROUNDS_TO_SETTLE: usize = 8;

    /// A place for each line of so much memory.
    pub fn of_lines(bytes: u64) -> Self {
        Self { places: (bytes / u64::from(LINE)) as u32, apart: LINE }
    }

    /// A line of each of so many small pages.
    pub fn of_pages(pages: u32) -> Self {
        Self { places: pages, apart: PAGE as u32 }
    }

    /// Bytes from the first place to this one. Places a page apart do not all fall into the same sets of a cache.
    pub fn offset(&self, place: u32) -> u64 {
        let (place, apart, line) = (u64::from(place), u64::from(self.apart), u64::from(LINE));
        let turn = if apart >= PAGE { place * line % PAGE } else { 0 };
        place * apart + turn
    }

    /// For each place the next one, in an order without a pattern, another for each seed (Sattolo, An algorithm to
    /// generate a random cyclic permutation, 1986).
    pub fn order(&self, seed: u64) -> Vec<u32> {
        let mut next: Vec<u32> = (0..self.places).collect();
        let mut chance = Chance::seeded(seed);
        for last in (1..self.places).rev() {
            next.swap(last as usize, chance.below(last) as usize);
        }
        next
    }

    /// Cycles of a load that waits for the one before, of a thread that has this core and its memory to itself; of
    /// pages of 4 KiB that lie anywhere. Caches hold what they keep of the ring: it is followed until a round takes as long
    /// as the one before.
    pub fn cycles(&self, model: &CoreModel) -> f64 {
        let (ring, model) = self.simulated_on(model);
        let mut walk = Walk::new(&ring, &model);
        let mut round = || walk.follow(ring.places as usize);
        let mut last = round();
        for _ in 0..Self::ROUNDS_TO_SETTLE {
            let before = std::mem::replace(&mut last, round());
            if (last / before - 1.0).abs() < SETTLED {
                break;
            }
        }
        last
    }

    /// Cycles of so many loads after so many others, from empty caches on.
    pub fn cycles_after(&self, warm_up: usize, counted: usize, model: &CoreModel) -> f64 {
        let (ring, model) = self.simulated_on(model);
        let part = (self.places / ring.places) as usize;
        let mut walk = Walk::new(&ring, &model);
        walk.follow(warm_up / part);
        walk.follow(counted / part)
    }

    /// The ring and the core that are simulated for this ring on this core: a part of both, if it is large.
    fn simulated_on(&self, model: &CoreModel) -> (Self, CoreModel) {
        match self.places > LARGE {
            true => (Self { places: self.places / PART, ..*self }, part_of(model)),
            false => (*self, model.clone()),
        }
    }
}

/// A thread that follows a ring on a core.
struct Walk<'a> {
    ring: &'a PointerChaseRing,
    next: Vec<u32>,
    memory: Memory,
    pages: Pages,
    /// Cycles of a load from the first level.
    latency: u64,
    now: u64,
    at: u32,
}

impl<'a> Walk<'a> {
    fn new(ring: &'a PointerChaseRing, model: &CoreModel) -> Self {
        let (memory, pages) = (Memory::new(model, &[1]), Pages::of(0, 1, PageSize::Small));
        let latency = u64::from(model.memory.loads.latency);
        Self { ring, next: ring.order(0), memory, pages, latency, now: 0, at: 0 }
    }

    /// Follows so many loads; the cycles of each, on average.
    fn follow(&mut self, loads: usize) -> f64 {
        let requester = Requester { thread: 0, is_alone: true };
        let begin = self.now;
        for _ in 0..loads {
            let linear = self.ring.offset(self.at);
            let request = Request { core: 0, requester, instruction: 1, linear, pages: self.pages };
            self.now = self.memory.load(request, self.now).ready + self.latency;
            self.at = self.next[self.at as usize];
        }
        (self.now - begin) as f64 / loads.max(1) as f64
    }
}

/// The core with a part of all the sets of its data caches and translations: what one of them meets is as before.
fn part_of(model: &CoreModel) -> CoreModel {
    let mut model = model.clone();
    let (memory, hierarchy) = (&mut model.memory, &mut model.hierarchy);
    let part = |kib: u32, ways: u32| kib.div_ceil(PART).max((ways * LINE).div_ceil(1024));
    memory.l1d.kib = part(memory.l1d.kib, memory.l1d.ways);
    hierarchy.l2.kib = part(hierarchy.l2.kib, hierarchy.l2.ways);
    let prefetch = &mut hierarchy.prefetch;
    let streams = prefetch.lines.as_mut().map(|lines| &mut lines.streams);
    let prefetchers = [&mut prefetch.strides, &mut prefetch.streams];
    let directories = &mut hierarchy.walk.directories;
    for entries in prefetchers.into_iter().chain(streams).chain([directories]) {
        *entries = entries.div_ceil(PART);
    }
    // Others bring as much into fewer sets: a round takes a part of the time, too, and each set gets as much in it.
    if let Some(l3) = &mut hierarchy.l3 {
        l3.kib = part(l3.kib, l3.ways);
    }
    if let Some(stlb) = &mut hierarchy.stlb {
        stlb.entries = stlb.entries.div_ceil(PART);
        stlb.ways = stlb.ways.min(stlb.entries);
    }
    memory.dtlb.entries = memory.dtlb.entries.div_ceil(PART);
    memory.dtlb.ways = memory.dtlb.ways.min(memory.dtlb.entries);
    model
}

#[cfg(test)]
mod tests {
    use crate::pointer_chase::*;
    use corun_model::find;

    #[test]
    fn a_load_takes_what_the_level_takes_that_holds_the_ring() {
        let model = find("zen4").unwrap();
        let of = |kib: u64| PointerChaseRing::of_lines(kib << 10).cycles(&model);
        let first = f64::from(model.memory.loads.latency);
        assert_eq!(of(16), first);
        let second = first + f64::from(model.memory.l1d.miss);
        // Twice the first level in an order that stays: what is asked for next has left just now.
        assert!((of(64) - second).abs() < 0.01, "{}", of(64));
        assert!((of(160) - second).abs() < 0.5, "{}", of(160));
        let last = second + f64::from(model.hierarchy.l2.miss + model.memory.dtlb.miss);
        assert!((of(4096) - last).abs() < 0.1 * last, "{}", of(4096));
        assert!(of(128 << 10) > model.hierarchy.main.nanoseconds * model.gigahertz);
    }

    #[test]
    fn background_fills_make_a_ring_slower_that_only_the_last_level_holds() {
        let cycles = |others: f64, kib: u64| {
            let mut model = find("zen4").unwrap();
            model.hierarchy.l3.as_mut().unwrap().background_fills = others;
            // Some lines of a ring happen to follow each other, and prefetchers look beyond its end.
            let prefetch = &mut model.hierarchy.prefetch;
            (prefetch.lines, prefetch.strides, prefetch.streams) = (None, 0, 0);
            PointerChaseRing::of_lines(kib << 10).cycles(&model)
        };
        assert_eq!(cycles(5.0, 512), cycles(0.0, 512), "the second level is the core's own");
        let [none, some, many] = [0.0, 0.5, 5.0].map(|others| cycles(others, 12 << 10));
        assert!(1.05 * none < some && 1.5 * some < many, "{none} {some} {many}");
    }

    #[test]
    fn a_part_of_a_large_ring_is_as_quick_in_a_part_of_the_memory() {
        for (name, others, kib) in [
            ("zen4", 0.0, 3 << 10),
            ("zen4", 1.5, 8 << 10),
            ("coffee-lake", 1.5, 3 << 10),
            ("coffee-lake", 0.0, 24 << 10),
        ] {
            let mut model = find(name).unwrap();
            let l3 = model.hierarchy.l3.as_mut().unwrap();
            l3.background_fills = others;
            let ring = PointerChaseRing::of_lines(kib << 10);
            let round = ring.places as usize;
            let all = |warm_up: usize| {
                let mut walk = Walk::new(&ring, &model);
                walk.follow(warm_up);
                walk.follow(round)
            };
            let settled = [ring.cycles(&model), all(PointerChaseRing::ROUNDS_TO_SETTLE * round)];
            let early = [ring.cycles_after(round / 4, round, &model), all(round / 4)];
            for [part, all] in [settled, early] {
                assert!((part / all - 1.0).abs() < 0.03, "{name} {others}: {part} {all}");
            }
        }
    }

    #[test]
    fn pages_take_walks_and_lines_lie_in_all_sets() {
        let ring = PointerChaseRing::of_pages(64);
        let sets: std::collections::HashSet<u64> =
            (0..64).map(|place| ring.offset(place) % PAGE / 64).collect();
        assert_eq!(sets.len(), 64);
        let model = find("zen4").unwrap();
        assert!(
            PointerChaseRing::of_pages(8192).cycles(&model)
                > PointerChaseRing::of_pages(1024).cycles(&model) + 9.0
        );
    }
}
