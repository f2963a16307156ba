//! Which way conditional branches go: TAGE (Seznec and Michaud, "A case for (partially) tagged geometric
//! history length branch prediction", 2006), with the choice of the alternative over a new entry as
//! in L-TAGE (Seznec 2007). Without tagged tables it is gshare (McFarling 1993).

use crate::frontend::branch::hash::mix;
use crate::frontend::branch::history::{History, Length};
use corun_model::Tage;

/// Branches after which one bit of all useful counters is cleared.
const FORGET: u64 = 1 << 18;
/// The most of a two-bit counter.
const TWO_BIT_MAX: u8 = 3;

/// The base predictor and the tagged tables.
#[derive(Debug)]
pub(crate) struct Direction {
    /// Two-bit counters: taken from 2 on.
    base: Vec<u8>,
    /// Of one table after the other, from the shortest history to the longest.
    entries: Vec<Entry>,
    table_bits: u32,
    tag: u16,
    lengths: Vec<Length>,
    /// Place of the present branch in each table.
    places: Vec<Place>,
    /// From 0 on, what lies below a new entry is trusted more than the entry.
    alternative: i8,
    /// Entries that a misprediction takes at most.
    allocations: u32,
    branches: u64,
    /// A linear congruence, for what is to be decided at random.
    chance: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// Of three bits: taken from 0 on.
    counter: i8,
    /// Of two bits; 0: it may be replaced.
    useful: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    index: usize,
    tag: u16,
}

impl Entry {
    fn is_taken(self) -> bool {
        self.counter >= 0
    }

    fn is_new(self) -> bool {
        self.useful == 0 && matches!(self.counter, -1 | 0)
    }

    fn learn(&mut self, is_taken: bool) {
        let step = if is_taken { 1 } else { -1 };
        self.counter = (self.counter + step).clamp(-4, 3);
    }
}

impl Direction {
    pub(crate) fn new(model: &Tage) -> Self {
        let table_bits = model.table.max(1).ilog2();
        let tables = model.histories.len();
        let lengths = model.histories.iter().map(|&length| Length::new(length, model.of_taken));
        Self {
            base: vec![1; 1 << model.base.max(1).ilog2()],
            entries: vec![Entry::default(); tables << table_bits],
            table_bits,
            tag: u16::MAX >> (u16::BITS - model.tag.clamp(1, u16::BITS)),
            lengths: lengths.collect(),
            places: vec![Place::default(); tables],
            alternative: 0,
            allocations: model.allocations,
            branches: 0,
            chance: 1,
        }
    }

    /// The lengths of history that it asks for.
    pub(crate) fn lengths(&self) -> &[Length] {
        &self.lengths
    }

    /// True if the branch is predicted to be taken; learns whether it was.
    pub(crate) fn predict(&mut self, history: &History, at: u64, is_taken: bool) -> bool {
        let base = self.base_place(history, at);
        let base_taken = self.base[base] >= 2;
        let (provider, below) = self.find(history, at);
        let below_taken = below.map_or(base_taken, |place| self.entries[place.index].is_taken());
        let Some((table, place)) = provider else {
            self.learn_base(base, is_taken);
            if base_taken != is_taken {
                self.allocate(0, is_taken);
            }
            self.pass();
            return base_taken;
        };
        let entry = self.entries[place.index];
        let entry_taken = entry.is_taken();
        let is_below = entry.is_new() && self.alternative >= 0;
        let predicted = if is_below { below_taken } else { entry_taken };
        if entry.is_new() && entry_taken != below_taken {
            let step = if below_taken == is_taken { 1 } else { -1 };
            self.alternative = (self.alternative + step).clamp(-8, 7);
        }
        // A new entry that was right already needs time, not a longer history.
        if predicted != is_taken && !(entry.is_new() && entry_taken == is_taken) {
            self.allocate(table + 1, is_taken);
        }
        if entry.useful == 0 {
            match below {
                Some(place) => self.entries[place.index].learn(is_taken),
                None => self.learn_base(base, is_taken),
            }
        }
        let entry = &mut self.entries[place.index];
        entry.learn(is_taken);
        if entry_taken != below_taken {
            entry.useful = if entry_taken == is_taken {
                (entry.useful + 1).min(TWO_BIT_MAX)
            } else {
                entry.useful.saturating_sub(1)
            };
        }
        self.pass();
        predicted
    }

    fn base_place(&self, history: &History, at: u64) -> usize {
        let folded = at ^ at >> 13 ^ at >> 27;
        let chosen = if self.lengths.is_empty() { folded ^ history.recent() } else { folded };
        chosen as usize & (self.base.len() - 1)
    }

    fn learn_base(&mut self, place: usize, is_taken: bool) {
        let counter = &mut self.base[place];
        *counter =
            if is_taken { (*counter + 1).min(TWO_BIT_MAX) } else { counter.saturating_sub(1) };
    }

    /// The entry of the longest history with its table, and the entry of the next longest.
    fn find(&mut self, history: &History, at: u64) -> (Option<(usize, Place)>, Option<Place>) {
        let (mut provider, mut below) = (None, None);
        let mask = (1 << self.table_bits) - 1;
        let folded = history.folded(&self.lengths);
        for (table, (place, folded)) in self.places.iter_mut().zip(folded).enumerate() {
            let mixed = mix(at, folded);
            let index = (table << self.table_bits) | ((mixed >> 44) as usize & mask);
            let tag = (mixed >> 12) as u16 & self.tag;
            *place = Place { index, tag };
            if self.entries[index].tag == tag {
                below = provider.map(|(_, place)| place);
                provider = Some((table, *place));
            }
        }
        (provider, below)
    }

    /// Takes entries in tables from `first` on for a branch that was mispredicted.
    fn allocate(&mut self, first: usize, is_taken: bool) {
        let mut first = first;
        for taken in 0..self.allocations {
            let Some(table) = self.free_table(first) else {
                let longer = self.places.get(first..).filter(|_| taken == 0);
                for place in longer.unwrap_or_default() {
                    self.entries[place.index].useful -= 1;
                }
                return;
            };
            let Place { index, tag } = self.places[table];
            let counter = if is_taken { 0 } else { -1 };
            self.entries[index] = Entry { tag, counter, useful: 0 };
            first = table + 1;
        }
    }

    /// A table from `first` on that has an entry to give, in every other case not the first of them, so that
    /// branches which need a long history find it.
    fn free_table(&mut self, first: usize) -> Option<usize> {
        let gives = |table: &usize| self.entries[self.places[*table].index].useful == 0;
        let mut free = (first..self.places.len()).filter(gives);
        let mut chosen = free.next()?;
        for next in free {
            self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if self.chance >> 63 == 0 {
                break;
            }
            chosen = next;
        }
        Some(chosen)
    }

    /// One branch more; now and then entries must prove their use again.
    fn pass(&mut self) {
        self.branches = self.branches.wrapping_add(1);
        if self.branches.is_multiple_of(FORGET) {
            let kept = if (self.branches / FORGET).is_multiple_of(2) { 0b10 } else { 0b01 };
            self.entries.iter_mut().for_each(|entry| entry.useful &= kept);
        }
    }
}
