//! Stores from renaming until they have reached the cache.

use std::collections::VecDeque;

use crate::lsq::predictive_forwarding::ForwardingPredictor;
use crate::uops::Handle;
use corun_model::{CoreModel, LINE};

/// Stores of one thread in program order.
#[derive(Debug)]
pub(crate) struct StoreQueue {
    pub(super) stores: VecDeque<Entry>,
    /// The number of the oldest.
    first: u64,
    /// For eight bytes at a time the youngest store to them, by a hash.
    youngest: Vec<u64>,
    /// Stores to eight bytes of any page, and of any page as siblings see them.
    of_offset: Vec<u64>,
    of_own_offset: Vec<u64>,
    /// So many of the oldest are retired.
    retired: usize,
    /// From when on the oldest may reach the cache.
    free: u64,
    /// Lines that were stored to, the last one first.
    lines: Vec<u64>,
    /// Stores that have left the queue, and have not reached the cache.
    pub(super) gathered: Gathered,
    /// Which stores loads got their bytes from.
    pub(super) predictor: ForwardingPredictor,
}

/// A store on its way.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    /// The first byte, physical and linear.
    pub(crate) address: u64,
    pub(crate) linear: u64,
    /// Offset in its page, where this process has that.
    pub(crate) offset: u64,
    pub(crate) size: u16,
    /// True if it goes past the caches.
    pub(crate) streams: bool,
    /// A number for its instruction.
    pub(crate) instruction: u32,
    /// The place's name, and the versions of its registers.
    pub(crate) name: u32,
    pub(crate) versions: [u64; 2],
    /// True if its address was the stack pointer and a displacement.
    pub(crate) is_on_stack: bool,
    /// True if its data is in no vector or mask register, and how many cycles later a load that is renamed to it has it.
    pub(crate) is_general: bool,
    pub(crate) renamed_later: u8,
    /// The micro-op that hands its data over.
    pub(crate) data: u64,
}

/// A store in the queue.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) store: Store,
    /// From when on its line can be written, once it was asked for.
    pub(super) granted: Option<u64>,
    /// Loads that wait until it has reached the cache, and so many cycles longer.
    pub(super) waiting: Vec<(Handle, u32)>,
}

/// Stores that have left the queue for a line that another core still has: a write-combining buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gathered {
    line: u64,
    until: u64,
}

impl Gathered {
    /// True if a store to a line may leave the queue, too: into the same buffer, or once that is empty.
    pub(super) fn may_follow(self, line: u64, now: u64) -> bool {
        self.until <= now || self.line == line
    }

    /// Takes a store to a line that will be there then.
    pub(super) fn take(&mut self, line: u64, until: u64) {
        *self = Self { line, until };
    }
}

/// Overlap of a store with a load of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    /// It writes all of them.
    Whole(u64),
    /// It writes some of them.
    Part(u64),
}

const HASHED: usize = 1 << 10;
/// Eights of a page.
const OFFSETS: usize = 1 << 9;

fn eights(address: u64, size: u16) -> impl Iterator<Item = usize> {
    let last = address.wrapping_add(u64::from(size.max(1)) - 1) >> 3;
    let first = address >> 3;
    (0..=last.wrapping_sub(first).min(15)).map(move |ahead| (first + ahead) as usize % HASHED)
}

/// True if two pieces of memory have a byte in common.
fn meet(one: u64, size: u16, other: u64, other_size: u16) -> bool {
    one < other + u64::from(other_size.max(1)) && other < one + u64::from(size.max(1))
}

impl StoreQueue {
    /// An empty one.
    pub(crate) fn of(model: &CoreModel) -> Self {
        Self {
            stores: VecDeque::new(),
            first: 1,
            youngest: vec![0; HASHED],
            of_offset: vec![0; OFFSETS],
            of_own_offset: vec![0; OFFSETS],
            retired: 0,
            free: 0,
            lines: Vec::new(),
            gathered: Gathered::default(),
            predictor: ForwardingPredictor::new(model.memory.forwarding.predictive_forwarding),
        }
    }

    /// Entries that are taken.
    pub(crate) fn len(&self) -> u32 {
        self.stores.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// True while stores have not reached the cache.
    pub(crate) fn is_busy(&self, now: u64) -> bool {
        !self.is_empty() || self.gathered.until > now
    }

    /// When all stores that have left the queue have reached the cache.
    pub(crate) fn gathered_until(&self) -> u64 {
        self.gathered.until
    }

    /// Adds the youngest.
    pub(crate) fn push(&mut self, store: Store) {
        self.index(self.first + self.stores.len() as u64, &store);
        self.stores.push_back(Entry { store, granted: None, waiting: Vec::new() });
    }

    /// Lets searches find a store by its number.
    fn index(&mut self, number: u64, store: &Store) {
        for eight in eights(store.address, store.size) {
            self.youngest[eight] = number;
            self.of_offset[eight % OFFSETS] = number;
        }
        for eight in eights(store.offset, store.size) {
            self.of_own_offset[eight % OFFSETS] = number;
        }
    }

    /// A store by its number.
    pub(super) fn get(&self, number: u64) -> &Store {
        &self.stores[(number - self.first) as usize].store
    }

    /// Lets a load wait until a store has reached the cache, and so many cycles longer.
    pub(crate) fn await_commit(&mut self, store: u64, load: Handle, longer: u32) {
        self.stores[(store - self.first) as usize].waiting.push((load, longer));
    }

    /// The number of the youngest, if there is one.
    pub(crate) fn youngest(&self) -> Option<u64> {
        (!self.stores.is_empty()).then(|| self.first + self.stores.len() as u64 - 1)
    }

    /// The youngest store that writes some of these bytes.
    pub(super) fn overlap(&self, address: u64, size: u16) -> Option<Overlap> {
        let hashed = eights(address, size).map(|eight| self.youngest[eight]).max().unwrap_or(0);
        if hashed < self.first {
            return None;
        }
        let end = address + u64::from(size.max(1));
        let candidates = (self.first..=hashed).rev();
        for number in candidates {
            let store = self.get(number);
            let store_end = store.address + u64::from(store.size.max(1));
            if store.address < end && address < store_end {
                let is_whole = store.address <= address && end <= store_end;
                return Some(if is_whole { Overlap::Whole(number) } else { Overlap::Part(number) });
            }
        }
        None
    }

    /// True if a store on its way writes some of these bytes.
    pub(crate) fn has_overlap(&self, address: u64, size: u16) -> bool {
        self.overlap(address, size).is_some()
    }

    /// The stores on their way to these offsets of any page, for a sibling's load of them.
    pub(crate) fn at_offset(&self, offset: u64, size: u16) -> impl Iterator<Item = &Store> {
        let youngest = eights(offset, size).map(|eight| self.of_own_offset[eight % OFFSETS]).max();
        let is_any = youngest.is_some_and(|number| number >= self.first);
        let stores = self.stores.iter().take(if is_any { usize::MAX } else { 0 });
        let stores = stores.map(|entry| &entry.store);
        stores.filter(move |store| meet(offset, size, store.offset, store.size))
    }

    /// True if a store to another place is on its way whose address has the same lowest bits.
    pub(crate) fn has_alias(&self, address: u64, size: u16) -> bool {
        const PAGE: u64 = 1 << 12;
        let numbers = eights(address, size).map(|eight| self.of_offset[eight % OFFSETS]);
        let on_their_way = numbers.filter(|&number| number >= self.first);
        let mut stores = on_their_way.map(|number| self.get(number));
        stores.any(|store| {
            let meets = meet(address % PAGE, size, store.address % PAGE, store.size);
            meets && address / PAGE != store.address / PAGE
        })
    }

    /// The youngest store to a line that the first level cannot hold beside that of a load, since it tells lines apart by so
    /// many bits of their linear addresses.
    pub(crate) fn excluding(&self, linear: u64, bits: u32) -> Option<u64> {
        let excludes = |entry: &Entry| {
            let other = entry.store.linear ^ linear;
            other >> bits != 0 && other % (1 << bits) < u64::from(LINE)
        };
        let number = self.stores.iter().rposition(excludes)?;
        Some(self.first + number as u64)
    }

    /// Marks the oldest stores that are not yet so as retired.
    pub(crate) fn retire(&mut self, count: u8) {
        self.retired = (self.retired + usize::from(count)).min(self.stores.len());
    }

    /// The oldest, if it may reach the cache.
    pub(super) fn ready(&mut self, now: u64) -> Option<&mut Entry> {
        self.stores.front_mut().filter(|_| self.retired > 0 && self.free <= now)
    }

    /// Forgets those that are not retired, and the loads that wait for the others.
    pub(crate) fn clear(&mut self) {
        self.stores.truncate(self.retired);
        self.youngest.fill(0);
        self.of_offset.fill(0);
        self.of_own_offset.fill(0);
        let mut stores = std::mem::take(&mut self.stores);
        for (number, Entry { store, waiting, .. }) in (self.first..).zip(&mut stores) {
            waiting.clear();
            self.index(number, store);
        }
        self.stores = stores;
    }

    /// True if a line is among those that were stored to last.
    pub(super) fn was_stored_to(&self, line: u64) -> bool {
        self.lines.contains(&line)
    }

    /// A store reaches a line, which is the last of `most` that are remembered.
    pub(super) fn note_line(&mut self, line: u64, most: usize) {
        if most == 0 || self.lines.first() == Some(&line) {
            return;
        }
        match self.lines.iter().position(|one| *one == line) {
            Some(place) => self.lines[..=place].rotate_right(1),
            None => {
                self.lines.truncate(most - 1);
                self.lines.insert(0, line);
            }
        }
    }

    /// Takes the oldest off; the next one may follow from `free` on. Returns the loads that wait for it.
    pub(super) fn pop(&mut self, free: u64) -> Vec<(Handle, u32)> {
        self.first += 1;
        self.retired = self.retired.saturating_sub(1);
        self.free = free;
        self.stores.pop_front().map(|oldest| oldest.waiting).unwrap_or_default()
    }

    /// When the oldest goes on, and when those that have left the queue have reached the cache.
    pub(crate) fn next_events(&self) -> [Option<u64>; 2] {
        let oldest = self.stores.front().filter(|_| self.retired > 0);
        let goes_on = oldest.map(|oldest| self.free.max(oldest.granted.unwrap_or(0)));
        [goes_on, Some(self.gathered.until)]
    }
}
