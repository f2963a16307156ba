//! Translations: whether one is there; the least recently used one goes first.

use crate::model::Tlb;

/// Entries by number (of a line, of a page), in sets.
#[derive(Debug)]
pub(super) struct Ways {
    ways: usize,
    /// Number and time of last use; never used: 0.
    entries: Vec<(u64, u64)>,
    shift: u32,
    clock: u64,
    /// The number that was found last.
    last: u64,
}

impl Ways {
    /// Entries for whole pages' numbers.
    pub(super) fn of_tlb(tlb: &Tlb) -> Self {
        Self::new(tlb.entries, tlb.ways, 0)
    }

    pub(super) fn new(entries: u32, ways: u32, shift: u32) -> Self {
        let ways = ways.max(1) as usize;
        let sets = (entries as usize / ways).max(1);
        Self { ways, entries: vec![(0, 0); sets * ways], shift, clock: 0, last: u64::MAX }
    }

    /// Whether the address is there; it is from now on.
    pub(super) fn touch(&mut self, address: u64) -> bool {
        let number = address >> self.shift;
        if number == self.last {
            return true;
        }
        self.last = number;
        self.clock += 1;
        let sets = self.entries.len() / self.ways;
        let set = &mut self.entries[number as usize % sets * self.ways..][..self.ways];
        let found = set.iter().position(|(known, used)| *known == number && *used > 0);
        let oldest = (0..set.len()).min_by_key(|&way| set[way].1).unwrap_or(0);
        set[found.unwrap_or(oldest)] = (number, self.clock);
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn one_line_is_one_entry() {
        let mut ways = Ways::new(64, 8, 6);
        assert!(!ways.touch(0x1000));
        assert!(ways.touch(0x103f));
        assert!(!ways.touch(0x1040));
    }
}
