//! Translations: whether one is there; the least recently used one goes first, or one by chance.

use super::others::Chance;

/// Entries by number (of a line, of a page), in sets.
#[derive(Debug)]
pub(super) struct Ways {
    ways: usize,
    /// Number and time of last use; never used: 0.
    entries: Vec<(u64, u64)>,
    /// For some numbers the entry in which they were last.
    seen: [u32; SEEN],
    shift: u32,
    clock: u64,
    /// The number that was found last.
    last: u64,
    /// Who goes, if that is by chance.
    chance: Option<Chance>,
}

/// Numbers for which the last entry is remembered.
const SEEN: usize = 64;

impl Ways {
    pub(super) fn new(entries: u32, ways: u32, shift: u32) -> Self {
        let ways = ways.max(1) as usize;
        let sets = (entries as usize / ways).max(1);
        let entries = vec![(0, 0); sets * ways];
        Self { ways, entries, seen: [0; SEEN], shift, clock: 0, last: u64::MAX, chance: None }
    }

    /// The same, of which any entry of a full set goes.
    pub(super) fn by_chance(self) -> Self {
        Self { chance: Some(Chance::default()), ..self }
    }

    /// Whether the address is there; it is from now on.
    pub(super) fn touch(&mut self, address: u64) -> bool {
        let number = address >> self.shift;
        if number == self.last {
            return true;
        }
        self.last = number;
        self.clock += 1;
        let seen = &mut self.seen[number as usize % SEEN];
        let entry = &mut self.entries[*seen as usize];
        if entry.0 == number && entry.1 > 0 {
            entry.1 = self.clock;
            return true;
        }
        let sets = self.entries.len() / self.ways;
        let first = number as usize % sets * self.ways;
        let set = &mut self.entries[first..][..self.ways];
        let found = set.iter().position(|(known, used)| *known == number && *used > 0);
        let goes = || {
            let oldest = (0..set.len()).min_by_key(|&way| set[way].1)?;
            let by_chance = self.chance.as_mut().filter(|_| set[oldest].1 > 0);
            Some(by_chance.map_or(oldest, |chance| chance.below(set.len() as u32) as usize))
        };
        let way = found.or_else(goes).unwrap_or(0);
        set[way] = (number, self.clock);
        *seen = (first + way) as u32;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_knows_what_was_used_last(pages in prop::collection::vec(0u64..400, 0..600)) {
            let mut ways = Ways::new(72, 72, 0);
            // The most recent last.
            let mut known: Vec<u64> = Vec::new();
            for page in pages {
                let is_known = known[known.len().saturating_sub(72)..].contains(&page);
                prop_assert_eq!(ways.touch(page), is_known);
                known.retain(|other| *other != page);
                known.push(page);
            }
        }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut ways = Ways::new(2, 2, 6);
        assert!(!ways.touch(0));
        assert!(!ways.touch(64));
        assert!(ways.touch(0));
        assert!(!ways.touch(128));
        assert!(ways.touch(0));
        assert!(!ways.touch(64), "its place was taken");
    }

    #[test]
    fn more_than_there_is_room_for_is_found_in_part_where_chance_decides() {
        let found = |mut ways: Ways| {
            let walk = |ways: &mut Ways| (0..4096).filter(|&page| ways.touch(page)).count();
            (0..8).map(|_| walk(&mut ways)).last().unwrap()
        };
        assert_eq!(found(Ways::new(3072, 24, 0)), 0);
        // A share m of misses with m = 1 - exp(-m 4096 / 3072).
        let by_chance = found(Ways::new(3072, 24, 0).by_chance()) as f64 / 4096.0;
        assert!((0.5..0.62).contains(&by_chance), "{by_chance}");
    }

    #[test]
    fn one_line_is_one_entry() {
        let mut ways = Ways::new(64, 8, 6);
        assert!(!ways.touch(0x1000));
        assert!(ways.touch(0x103f));
        assert!(!ways.touch(0x1040));
    }
}
