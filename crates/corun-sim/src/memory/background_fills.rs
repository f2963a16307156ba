//! Fills of a shared cache by cores that are not simulated: the work of others on the same machine.
//!
//! Their lines come at a steady mean rate into sets at random (a Poisson process). A set learns of those that came
//! when it is next asked for something, so that they cost no time until then.

/// Lines of other cores on their way into a cache.
#[derive(Debug)]
pub(super) struct BackgroundFills {
    /// Lines a cycle into one set.
    rate: f64,
    /// Up to when each set knows what came; not at all before it was asked.
    known: Vec<Option<u64>>,
    chance: Chance,
}

impl BackgroundFills {
    /// So many lines a cycle, into so many sets.
    pub(super) fn new(lines_a_cycle: f64, sets: u64) -> Self {
        let rate = lines_a_cycle / sets as f64;
        Self { rate, known: vec![None; sets as usize], chance: Chance::default() }
    }

    /// Sets that were not asked yet are not full of background lines: theirs come from cycle `now` on.
    pub(super) fn begin(&mut self, now: u64) {
        for known in &mut self.known {
            known.get_or_insert(now);
        }
    }

    /// Number of lines that have come into a set of so many ways since the last call; no more than some times the ways,
    /// after which hardly anything is left of what was there, whichever line leaves first. Before it is asked at all it
    /// is full: background work did not begin with the simulation.
    pub(super) fn come(&mut self, set: u64, now: u64, ways: u32) -> u32 {
        let known = &mut self.known[set as usize];
        let before = known.replace(known.map_or(now, |before| before.max(now)));
        let Some(before) = before else { return ways };
        let elapsed = now.saturating_sub(before);
        self.chance.poisson(elapsed as f64 * self.rate, ROUNDS * ways)
    }
}

/// A line that was used again is kept for so many rounds of new ones by re-reference intervals of two bits.
const ROUNDS: u32 = 4;

/// Numbers at random, always the same ones.
#[derive(Debug, Default)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// Others for each seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        let mut chance = Self { state: seed };
        // Seeds that are near each other begin alike.
        (0..4).for_each(|_| {
            chance.next();
        });
        chance
    }

    /// Knuth's linear congruential generator (The Art of Computer Programming, 3.3.4), whose upper half is at random.
    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 32) as u32
    }

    /// From 0 up to, and without, this.
    #[inline]
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(end)) >> 32) as u32
    }

    /// A number above 0 and up to 1.
    fn share(&mut self) -> f64 {
        (f64::from(self.next()) + 1.0) / (f64::from(u32::MAX) + 1.0)
    }

    /// As often as what happens `mean` times on average, but no more than `most` times: so many waits fit, each
    /// exponential.
    fn poisson(&mut self, mean: f64, most: u32) -> u32 {
        let mut left = mean;
        (0..most)
            .take_while(|_| {
                left += self.share().ln();
                left > 0.0
            })
            .count() as u32
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::background_fills::*;

    #[test]
    fn as_many_come_as_the_rate_says() {
        // 0.01 lines a cycle into 16 sets, each asked every 500 cycles for a million.
        let mut fills = BackgroundFills::new(0.01, 16);
        assert!((0..16).all(|set| fills.come(set, 0, 16) == 16), "they were there before");
        let mut all = [0; 16];
        let mut none = 0;
        for now in (500..=1_000_000).step_by(500) {
            for (set, count) in (0..).zip(&mut all) {
                let came = fills.come(set, now, 16);
                *count += came;
                none += u32::from(came == 0);
            }
        }
        let sum: u32 = all.iter().sum();
        assert!(sum.abs_diff(10_000) < 400, "{all:?}");
        assert!(all.iter().all(|count| count.abs_diff(625) < 125), "{all:?}");
        // e^-0.3125 of the waits are without any.
        let expected = (-0.3125_f64).exp() * 2000.0 * 16.0;
        assert!((f64::from(none) - expected).abs() < 0.03 * expected, "{none} of {expected}");
    }

    #[test]
    fn a_long_wait_fills_the_set_and_no_more() {
        let mut fills = BackgroundFills::new(1.0, 4);
        fills.come(1, 0, 16);
        assert_eq!(fills.come(1, 1_000_000_000, 16), ROUNDS * 16);
        assert_eq!(fills.come(1, 1_000_000_000, 16), 0, "they are known now");
        assert_eq!(fills.come(1, 5, 16), 0, "an earlier request changes nothing");
    }

    #[test]
    fn numbers_by_chance_are_below_their_end() {
        let mut chance = Chance::default();
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[chance.below(6) as usize] += 1;
        }
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 500), "{seen:?}");
    }
}
