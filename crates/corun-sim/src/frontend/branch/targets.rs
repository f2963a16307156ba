//! The branch target buffer: a front end that knows a branch here fetches its target without having
//! seen its code. A near level is small and fast, a far one large and slow.

/// Ways of a set at least; fewer than twice as many where the entries allow it.
const MIN_WAYS: usize = 4;

/// All levels; a branch that a far one knows comes to the nearer ones too.
#[derive(Debug)]
pub(crate) struct Targets {
    levels: Vec<Level>,
}

/// Entry of a branch in the branch target buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BtbHit {
    /// The nearest level that knows it.
    pub(crate) level: usize,
    /// Last target.
    pub(crate) target: u64,
}

impl Targets {
    /// Empty levels of so many branches each, the nearest first.
    pub(crate) fn new(levels: impl IntoIterator<Item = u32>) -> Self {
        Self { levels: levels.into_iter().map(Level::new).collect() }
    }

    /// Entry of the branch at an address.
    pub(crate) fn find(&self, at: u64) -> Option<BtbHit> {
        let found = |(level, one): (usize, &Level)| {
            one.set(at).iter().find(|entry| entry.at == at).map(|entry| (level, entry.target))
        };
        let (level, target) = self.levels.iter().enumerate().find_map(found)?;
        Some(BtbHit { level, target })
    }

    /// The branch at an address went to its target: the youngest of its set in every level from then
    /// on. Returns what was known of it.
    pub(crate) fn put(&mut self, at: u64, target: u64) -> Option<BtbHit> {
        let mut known = None;
        for (level, one) in self.levels.iter_mut().enumerate() {
            let before = one.put(Entry { at, target });
            known = known.or(before.map(|target| BtbHit { level, target }));
        }
        known
    }
}

/// Sets of branches, each with the youngest first.
#[derive(Debug)]
struct Level {
    entries: Vec<Entry>,
    set_bits: u32,
    ways: usize,
    /// So many sets have one way more, where the entries do not divide.
    wider: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: u64,
    target: u64,
}

/// No branch lies here.
const NOWHERE: u64 = u64::MAX;

impl Level {
    fn new(entries: u32) -> Self {
        let entries = entries.max(1) as usize;
        let set_bits = (entries / MIN_WAYS).checked_ilog2().unwrap_or(0);
        Self {
            entries: vec![Entry { at: NOWHERE, target: 0 }; entries],
            set_bits,
            ways: entries >> set_bits,
            wider: entries & ((1 << set_bits) - 1),
        }
    }

    /// Range of the set of an address: the exclusive or of all groups of bits, so that branches at
    /// any distance that is a power of two fill all sets alike.
    fn place(&self, at: u64) -> std::ops::Range<usize> {
        let mut folded = 0;
        if self.set_bits > 0 {
            let mut rest = at;
            while rest != 0 {
                folded ^= rest;
                rest >>= self.set_bits;
            }
        }
        let set = folded as usize & ((1 << self.set_bits) - 1);
        let first = set * self.ways + set.min(self.wider);
        first..first + self.ways + usize::from(set < self.wider)
    }

    fn set(&self, at: u64) -> &[Entry] {
        &self.entries[self.place(at)]
    }

    /// Returns the target that was known.
    fn put(&mut self, entry: Entry) -> Option<u64> {
        let place = self.place(entry.at);
        let set = &mut self.entries[place];
        let known = set.iter().position(|known| known.at == entry.at);
        let before = known.map(|way| set[way].target);
        let last = known.unwrap_or(set.len() - 1);
        set[..=last].rotate_right(1);
        set[0] = entry;
        before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::frontend::branch::targets::*;

    /// Number of `count` branches, 16 bytes from each other, that are unknown in the third round.
    fn unknown(targets: &mut Targets, count: u64) -> usize {
        let mut unknown = 0;
        for round in 0..3 {
            for at in (0..count).map(|branch| 0x40_0000 + branch * 16) {
                unknown += usize::from(round == 2 && targets.find(at).is_none());
                targets.put(at, at + 100);
            }
        }
        unknown
    }

    #[test]
    fn as_many_branches_as_entries_are_known_and_one_more_is_not() {
        for entries in [16, 128, 1536, 4096, 7168] {
            assert_eq!(unknown(&mut Targets::new([entries]), entries.into()), 0, "{entries}");
            let above = unknown(&mut Targets::new([entries]), u64::from(entries) + 1);
            assert!(above > 0, "{entries}");
            let twice = unknown(&mut Targets::new([entries]), 2 * u64::from(entries));
            assert_eq!(twice, 2 * entries as usize);
        }
    }

    #[test]
    fn one_set_gives_up_what_was_taken_longest_ago() {
        let mut targets = Targets::new([4]);
        for at in 1..=4 {
            targets.put(at, at * 10);
        }
        targets.put(1, 11);
        targets.put(5, 50);
        assert_eq!(targets.find(2), None);
        let known = [1, 3, 4, 5].map(|at| targets.find(at).map(|known| known.target));
        assert_eq!(known, [Some(11), Some(30), Some(40), Some(50)]);
    }

    #[test]
    fn a_far_level_knows_what_a_near_one_lost_and_hands_it_back() {
        let mut targets = Targets::new([4, 64]);
        for branch in 0..8 {
            targets.put(branch * 16, 1);
        }
        assert_eq!(targets.find(0), Some(BtbHit { level: 1, target: 1 }));
        targets.put(0, 2);
        assert_eq!(targets.find(0), Some(BtbHit { level: 0, target: 2 }));
    }

    proptest! {
        #[test]
        fn every_entry_is_of_one_set(entries in 1u32..5000) {
            let level = Level::new(entries);
            let mut sets = Vec::new();
            for at in 0..1u64 << level.set_bits {
                sets.push(level.place(at));
            }
            sets.sort_by_key(|set| set.start);
            prop_assert_eq!(sets[0].start, 0);
            prop_assert!(sets.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert_eq!(sets[sets.len() - 1].end, entries as usize);
        }

        #[test]
        fn what_was_put_last_is_known(
            levels in prop::collection::vec(1u32..100, 1..4),
            branches in prop::collection::vec((0u64..500, any::<u64>()), 1..300),
        ) {
            let mut targets = Targets::new(levels);
            for (at, target) in branches {
                targets.put(at, target);
                prop_assert_eq!(targets.find(at), Some(BtbHit { level: 0, target }));
            }
        }
    }
}
