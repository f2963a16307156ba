//! Entries by number (of a page, of a stream), in sets: the least recently used one goes first, or one at random.

use crate::memory::background_fills::Chance;

/// Entries in sets, each with a place of its own.
#[derive(Debug)]
pub(super) struct Ways {
    ways: usize,
    /// Number in each place.
    numbers: Vec<u64>,
    /// The places of each set in a ring by their last use, so that the victim is not searched for.
    order: Vec<Neighbours>,
    /// The place of each set that was used last.
    last_used: Vec<u32>,
    /// For some numbers the place in which they were last.
    seen: [u32; SEEN],
    /// The number that was found last.
    last: u64,
    /// Count of the numbers of each hash, where a search is long, so that one of none is not searched for.
    present: Vec<u32>,
    /// Who goes, if that is at random.
    chance: Option<Chance>,
}

/// Places that were used just before one, and just after it.
#[derive(Debug, Clone, Copy)]
struct Neighbours {
    older: u32,
    newer: u32,
}

/// Number of an empty entry.
const NONE: u64 = u64::MAX;
/// Numbers for which the last place is remembered.
const SEEN: usize = 64;
/// Ways up to which a set is searched whatever it holds.
const MANY_WAYS: u32 = 32;
/// Hashes that are counted where there are more, several times as many as the entries of a translation buffer.
const HASHES: usize = 1 << 10;

impl Ways {
    pub(super) fn new(entries: u32, ways: u32) -> Self {
        let ways = ways.max(1);
        let sets = (entries / ways).max(1);
        let ring = |place: u32| {
            let (set, way) = (place / ways * ways, place % ways);
            let at = |way: u32| set + way % ways;
            Neighbours { older: at(way + 1), newer: at(way + ways - 1) }
        };
        Self {
            ways: ways as usize,
            numbers: vec![NONE; (sets * ways) as usize],
            order: (0..sets * ways).map(ring).collect(),
            last_used: (0..sets).map(|set| set * ways).collect(),
            seen: [0; SEEN],
            last: NONE,
            present: if ways > MANY_WAYS { vec![0; HASHES] } else { Vec::new() },
            chance: None,
        }
    }

    /// The table with random replacement: any entry of a full set goes.
    pub(super) fn random_replacement(self) -> Self {
        Self { chance: Some(Chance::default()), ..self }
    }

    /// Empties it.
    pub(super) fn forget(&mut self) {
        self.numbers.fill(NONE);
        self.present.fill(0);
        self.last = NONE;
    }

    /// True if a number is there; it is from now on.
    #[inline]
    pub(super) fn touch(&mut self, number: u64) -> bool {
        if number == self.last {
            return true;
        }
        self.last = number;
        self.place(number).1
    }

    /// The set and the place of the number that was [touched](Self::touch) last.
    #[inline]
    pub(super) fn last_place(&self, number: u64) -> (u32, u32) {
        debug_assert_eq!(number, self.last);
        let place = self.seen[number as usize % SEEN];
        (place / self.ways as u32, place)
    }

    /// True if a place holds a number.
    #[inline]
    pub(super) fn is_at(&self, number: u64, place: u32) -> bool {
        self.numbers[place as usize] == number
    }

    /// Uses a number in its set and place, as [`touch`](Self::touch) does.
    #[inline]
    pub(super) fn use_at(&mut self, number: u64, (set, place): (u32, u32)) {
        if number != self.last {
            self.last = number;
            self.use_now(set as usize, place);
        }
    }

    /// The place of a number, used now; and whether it was there before.
    pub(super) fn place(&mut self, number: u64) -> (usize, bool) {
        let seen = self.seen[number as usize % SEEN];
        let set = number as usize % self.last_used.len();
        if self.numbers[seen as usize] == number {
            self.use_now(set, seen);
            return (seen as usize, true);
        }
        let first = set * self.ways;
        let may_be_there = self.present.get(hash(number)).is_none_or(|count| *count > 0);
        let own = &self.numbers[first..first + self.ways];
        let found = if may_be_there { position(own, number) } else { None };
        let place = found.map_or_else(|| self.goes(set), |way| (first + way) as u32);
        let before = std::mem::replace(&mut self.numbers[place as usize], number);
        if !self.present.is_empty() && before != number {
            self.present[hash(number)] += 1;
            if before != NONE {
                self.present[hash(before)] -= 1;
            }
        }
        self.seen[number as usize % SEEN] = place;
        self.use_now(set, place);
        (place as usize, found.is_some())
    }

    /// The place of a set that is given up.
    fn goes(&mut self, set: usize) -> u32 {
        let oldest = self.order[self.last_used[set] as usize].newer;
        let is_full = self.numbers[oldest as usize] != NONE;
        match self.chance.as_mut().filter(|_| is_full) {
            Some(chance) => (set * self.ways) as u32 + chance.below(self.ways as u32),
            None => oldest,
        }
    }

    /// Moves a place to the newer end of its set's ring.
    #[inline]
    fn use_now(&mut self, set: usize, place: u32) {
        let before = std::mem::replace(&mut self.last_used[set], place);
        if before == place {
            return;
        }
        let Neighbours { older, newer } = self.order[place as usize];
        self.order[older as usize].newer = newer;
        self.order[newer as usize].older = older;
        let oldest = self.order[before as usize].newer;
        self.order[place as usize] = Neighbours { older: before, newer: oldest };
        self.order[before as usize].newer = place;
        self.order[oldest as usize].older = place;
    }
}

/// Which of [`HASHES`] a number has.
#[inline]
fn hash(number: u64) -> usize {
    (number ^ number >> HASHES.ilog2() ^ number >> 40) as usize % HASHES
}

/// Position of a number among others, compared with several at a time.
#[inline]
pub(super) fn position(numbers: &[u64], number: u64) -> Option<usize> {
    const AT_A_TIME: usize = 8;
    let is_among =
        |some: &[u64; AT_A_TIME]| some.iter().fold(false, |any, &it| any | (it == number));
    let (chunks, rest) = numbers.as_chunks::<AT_A_TIME>();
    let chunk = chunks.iter().position(is_among);
    let among = chunk.map_or(rest, |chunk| &chunks[chunk]);
    let way = among.iter().position(|&it| it == number)?;
    Some(chunk.unwrap_or(chunks.len()) * AT_A_TIME + way)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::memory::set_associative::*;

    proptest! {
        #[test]
        fn it_knows_what_was_used_last(pages in prop::collection::vec(0u64..400, 0..600)) {
            let mut ways = Ways::new(72, 72);
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
        let mut ways = Ways::new(2, 2);
        assert!(!ways.touch(0));
        assert!(!ways.touch(1));
        assert!(ways.touch(0));
        assert!(!ways.touch(2));
        assert!(ways.touch(0));
        assert!(!ways.touch(1), "its place was taken");
    }

    #[test]
    fn a_number_stays_in_its_place() {
        let mut ways = Ways::new(64, 4);
        let places: Vec<_> = (0..64).map(|number| ways.place(number)).collect();
        assert!(places.iter().all(|(_, was_there)| !was_there));
        let again: Vec<_> = (0..64).map(|number| ways.place(number)).collect();
        assert!(again.iter().zip(&places).all(|(one, other)| *one == (other.0, true)));
    }

    #[test]
    fn more_than_there_is_room_for_is_found_in_part_where_chance_decides() {
        let found = |mut ways: Ways| {
            let walk = |ways: &mut Ways| (0..4096).filter(|&page| ways.touch(page)).count();
            (0..8).map(|_| walk(&mut ways)).last().unwrap()
        };
        assert_eq!(found(Ways::new(3072, 24)), 0);
        // A share m of misses with m = 1 - exp(-m 4096 / 3072).
        let random_replacement = found(Ways::new(3072, 24).random_replacement()) as f64 / 4096.0;
        assert!((0.5..0.62).contains(&random_replacement), "{random_replacement}");
    }
}
