//! Circles of addresses, each of which leads to the next: what a load takes in one can be timed on any machine, so
//! that the memory of a model can be set beside that of a machine.

use crate::divided::User;
use crate::memory::{Chance, Memory, Pages, Request};
use crate::model::{CoreModel, LINE};

/// Bytes of a small page.
const PAGE: u64 = 4096;
/// Rounds before the one that counts, after which caches hold what they keep of it: with others in the last level that
/// takes several.
const WARM_UP: usize = 8;
/// Loads of a round, and of the rounds before, at most; in a circle that no cache holds they are enough.
const MOST: usize = 400_000;
const MOST_BEFORE: usize = 1_200_000;

/// Places in memory, of which each leads to another one until all were visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// How many.
    pub places: u32,
    /// Bytes from one to the next.
    pub apart: u32,
}

impl Circle {
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
    /// pages of 4 KiB that lie anywhere.
    pub fn cycles(&self, model: &CoreModel) -> f64 {
        let mut memory = Memory::new(model, &[1]);
        let pages = Pages::of(0, 1, false);
        let user = User { thread: 0, is_alone: true };
        let next = self.order(0);
        let (mut now, mut at) = (0, 0);
        let mut follow = |loads: usize| {
            let begin = now;
            for _ in 0..loads {
                let linear = self.offset(at);
                let request = Request { core: 0, user, instruction: 1, linear, pages };
                now = memory.load(request, now).ready + u64::from(model.memory.loads.latency);
                at = next[at as usize];
            }
            (now - begin) as f64 / loads.max(1) as f64
        };
        let round = next.len().min(MOST);
        follow((WARM_UP * round).min(MOST_BEFORE));
        follow(round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::find;

    #[test]
    fn a_load_takes_what_the_level_takes_that_holds_the_circle() {
        let model = find("zen4").unwrap();
        let of = |kib: u64| Circle::of_lines(kib << 10).cycles(&model);
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
    fn what_others_bring_makes_a_circle_slower_that_only_the_last_level_holds() {
        let cycles = |others: f64, kib: u64| {
            let mut model = find("zen4").unwrap();
            model.hierarchy.l3.as_mut().unwrap().others = others;
            Circle::of_lines(kib << 10).cycles(&model)
        };
        assert_eq!(cycles(5.0, 512), cycles(0.0, 512), "the second level is the core's own");
        let [none, some, many] = [0.0, 0.5, 5.0].map(|others| cycles(others, 12 << 10));
        assert!(1.05 * none < some && 1.5 * some < many, "{none} {some} {many}");
    }

    #[test]
    fn pages_take_walks_and_lines_lie_in_all_sets() {
        let circle = Circle::of_pages(64);
        let sets: std::collections::HashSet<u64> =
            (0..64).map(|place| circle.offset(place) % PAGE / 64).collect();
        assert_eq!(sets.len(), 64);
        let model = find("zen4").unwrap();
        assert!(
            Circle::of_pages(8192).cycles(&model) > Circle::of_pages(1024).cycles(&model) + 9.0
        );
    }
}
