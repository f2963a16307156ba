//! Memory hierarchy beyond the first level: caches, translations, prefetchers, memory, other cores.

use serde::{Deserialize, Serialize};

use super::memory::Cache;
use super::sharing::Sharing;

/// Everything between the first-level caches and memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hierarchy {
    /// Misses of the first-level data cache on their way.
    pub fills: Fills,
    /// Second-level cache of each core.
    pub l2: Level,
    /// Last-level cache of several cores.
    pub l3: Option<LastLevel>,
    /// Second-level translations.
    pub stlb: Option<SecondTlb>,
    /// Those of instructions, where they are not in the same table.
    pub code_stlb: Option<SecondTlb>,
    /// Page walk after a miss of all TLBs.
    pub walk: Walk,
    /// Prefetchers.
    pub prefetch: Prefetch,
    /// Memory.
    pub main: MainMemory,
    /// Coherence: lines that cores take from each other.
    pub coherence: Coherence,
    /// Load of the cores that are not simulated: from 0, idle, to 1, each with as much of the last level and of memory as
    /// one that is.
    #[serde(default)]
    pub load_of_others: f64,
}

impl Hierarchy {
    /// The share of the common capacity of `all` cores that `simulated` of them have.
    fn left(&self, all: u32, simulated: u32) -> f64 {
        let simulated = f64::from(simulated);
        let others = (f64::from(all) - simulated).max(0.0) * self.load_of_others;
        simulated / (simulated + others)
    }

    /// Part of the last level for so many of its cores: fewer sets, one at least.
    pub fn last_level(&self, simulated: u32) -> Option<CacheSize> {
        let l3 = self.l3.as_ref()?;
        let size = l3.size();
        let sets = f64::from(size.sets) * self.left(l3.cores, simulated);
        Some(CacheSize { sets: (sets.round() as u32).max(1), ..size })
    }

    /// GB (10^9 bytes) a second that memory hands to so many cores.
    pub fn memory_bandwidth(&self, simulated: u32) -> f64 {
        let left = |all: &AllCores| all.gigabytes_a_second * self.left(all.cores, simulated);
        let of_all = self.main.all_cores.as_ref().filter(|_| self.load_of_others > 0.0).map(left);
        of_all.unwrap_or(f64::INFINITY).min(self.main.gigabytes_a_second)
    }
}

/// Misses on their way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fills {
    /// Lines on their way at once.
    pub entries: u32,
    /// Cycles after a line's bytes came in which another miss of its set is too early, ...
    #[serde(default)]
    pub conflict_window: u32,
    /// ... and cycles until that one is tried again.
    #[serde(default)]
    pub retry_delay: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Which line leaves a cache for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one whose last use is longest ago.
    Lru,
    /// One that was not used since all others were: a bit for each.
    PseudoLru,
    /// One that is predicted to be used last: two bits for each (RRIP, Jaleel et al. 2010).
    Rrip,
    /// Of two at random the one whose last use is longer ago: between chance and `Lru`, for caches whose
    /// size shows as a slope and not as a step.
    OlderOfTwo,
}

impl Replacement {
    /// Of a first level whose model does not say.
    pub(super) fn of_first_level() -> Self {
        Self::PseudoLru
    }
}

/// A cache beyond the first level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// KiB.
    pub kib: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Which line leaves.
    pub replacement: Replacement,
    /// Cycles that a miss costs more, if the next level has it.
    pub miss: u32,
    /// Cycles between two lines that it hands over.
    pub interval: f64,
    /// Misses of its own in flight at once.
    pub entries: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// The cache that several cores share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastLevel {
    /// KiB, all slices together.
    pub kib: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Which line leaves.
    pub replacement: Replacement,
    /// Inclusion policy.
    pub holds: Holds,
    /// Cores that share it.
    pub cores: u32,
    /// Cycles that a miss costs more, before memory is asked.
    pub miss: u32,
    /// Cycles between two lines that it hands to one core.
    pub interval: f64,
    /// GB (10^9 bytes) a second that cores which are not simulated bring into it: on a machine that others use, too.
    #[serde(default)]
    pub background_fills: f64,
    /// Source of the figures.
    pub source: String,
}

/// Inclusion policy of a last-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Lines that the second level gave up.
    Victims,
    /// Everything that the cores hold, too.
    Inclusive,
}

/// Second-level translations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondTlb {
    /// Pages.
    pub entries: u32,
    /// Pages of a set.
    pub ways: u32,
    /// True if any page of a full set leaves for a new one, and not the one whose last use is longest ago.
    #[serde(default)]
    pub random_replacement: bool,
    /// True if it holds no huge pages.
    #[serde(default)]
    pub small_only: bool,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Page walk: the hardware's search for a translation in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Walks at once.
    pub walkers: u32,
    /// Cycles of a walk besides its accesses.
    pub cycles: u32,
    /// Entries of a hypervisor's tables that each walk reads besides, as if all other levels of theirs were known. If any,
    /// its pages are of 4 KiB, and each translation is of no more.
    #[serde(default)]
    pub nested: u32,
    /// Entries for the level above pages (2 MiB each): with one the walk is a single access.
    pub directories: u32,
    /// The first cache that is asked for the tables.
    pub first_cache: WalkCache,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// The first cache that a walk asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WalkCache {
    /// First-level data cache.
    L1d,
    /// Second-level cache.
    L2,
}

/// Prefetchers. A count of zero: the core has no such one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prefetch {
    /// True if a first-level miss brings the next line too.
    pub next_line: bool,
    /// Instructions whose strides are remembered.
    pub strides: u32,
    /// Strides ahead: so many into the first level, and so many into the second.
    pub stride_distance: [u32; 2],
    /// True if they continue after the end of a page of 4 KiB.
    pub stride_across_pages: bool,
    /// Streams of lines by linear addresses, if the core follows such.
    pub lines: Option<LinePrefetch>,
    /// Pages whose streams are remembered by the second level.
    pub streams: u32,
    /// Lines ahead of a stream.
    pub stream_distance: u32,
    /// True if a second-level miss brings the other line of its pair (128 bytes) too.
    pub adjacent: bool,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// A prefetcher of lines one after the other by linear addresses, whichever instruction asks for them and across pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinePrefetch {
    /// Streams that are remembered.
    pub streams: u32,
    /// Lines ahead: so many into the first level, and so many into the second.
    pub distance: [u32; 2],
    /// Lines after which a stream is a long one, ...
    pub long: u32,
    /// ... and how many lines ahead are fetched into the second level then.
    pub long_distance: u32,
}

/// Memory beyond all caches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainMemory {
    /// Nanoseconds from the last cache to memory and back.
    pub nanoseconds: f64,
    /// GB (10^9 bytes) a second that it hands to one group of cores.
    pub gigabytes_a_second: f64,
    /// Bandwidth of all cores together. None: no more cores than one group share it.
    pub all_cores: Option<AllCores>,
    /// The share of `nanoseconds` after which memory has what is written past the caches.
    pub write_share: f64,
    /// Source of the figures.
    pub source: String,
}

/// Memory bandwidth of all cores together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllCores {
    /// GB (10^9 bytes) a second.
    pub gigabytes_a_second: f64,
    /// Number of cores.
    pub cores: u32,
}

/// Coherence: lines that cores take from each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coherence {
    /// Cycles for a line that another core has changed, instead of those of the last level.
    pub transfer: u32,
    /// Cycles of the transfer until the snoop reaches the core that has the line: so long it may use the line
    /// if another core requested it while it was filled.
    pub snoop_delay: u32,
    /// Machine clear, in cycles: another core wrote a line that this one loaded too early, or read a line that it
    /// has changed.
    pub machine_clear: u32,
    /// Cycles from having the bytes of a line that came from another core to retiring the load: until
    /// then another core may take them back.
    pub retire_hold: u32,
    /// Source of the figures.
    pub source: String,
}

/// Bytes of a line of every cache beyond the first level.
pub const LINE: u32 = 64;

/// Size of any cache, in sets and ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSize {
    /// Sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Which line leaves.
    pub replacement: Replacement,
}

impl CacheSize {
    fn new(kib: u32, ways: u32, replacement: Replacement) -> Self {
        Self { sets: kib * 1024 / LINE / ways, ways, replacement }
    }

    /// One of so many equal parts: of its ways if that is possible, else of its sets.
    pub fn part(self, parts: u32) -> Self {
        if self.ways.is_multiple_of(parts) {
            Self { ways: self.ways / parts, ..self }
        } else {
            Self { sets: (self.sets / parts).max(1), ..self }
        }
    }
}

impl Level {
    /// Size in sets and ways.
    pub fn size(&self) -> CacheSize {
        CacheSize::new(self.kib, self.ways, self.replacement)
    }
}

impl LastLevel {
    /// Size in sets and ways.
    pub fn size(&self) -> CacheSize {
        CacheSize::new(self.kib, self.ways, self.replacement)
    }
}

impl Cache {
    /// Size in sets and ways.
    pub fn size(&self) -> CacheSize {
        CacheSize::new(self.kib, self.ways, self.replacement)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn others_leave_less_of_what_all_share() {
        let mut hierarchy = crate::find("zen3").unwrap().hierarchy;
        let all = hierarchy.l3.as_ref().unwrap().size();
        let whole = hierarchy.main.gigabytes_a_second;
        assert_eq!((hierarchy.last_level(1), hierarchy.memory_bandwidth(1)), (Some(all), whole));
        // Eight cores around a last level, and twelve at the memory.
        hierarchy.load_of_others = 1.0;
        assert_eq!(hierarchy.last_level(1).unwrap().sets, all.sets / 8);
        assert_eq!(hierarchy.last_level(8), Some(all));
        assert!((hierarchy.memory_bandwidth(3) - 51.2 / 4.0).abs() < 1e-9);
        assert_eq!(hierarchy.memory_bandwidth(12), whole.min(51.2));
        hierarchy.load_of_others = 0.5;
        assert_eq!(
            hierarchy.last_level(2).unwrap().sets,
            (f64::from(all.sets) / 2.5).round() as u32
        );
    }
}
