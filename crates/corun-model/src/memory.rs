//! Loads and stores up to the first-level data cache.

use serde::{Deserialize, Serialize};

use super::hierarchy::Replacement;
use super::sharing::Sharing;

/// Loads, stores, and the first level of data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryPipeline {
    /// Loads.
    pub loads: Loads,
    /// Stores.
    pub stores: Stores,
    /// From a store to a load of the same bytes.
    pub forwarding: Forwarding,
    /// First-level data cache.
    pub l1d: Cache,
    /// Microtags, where its lines are found by a part of their linear address.
    pub microtags: Option<Microtags>,
    /// Which lines it cannot hold at once.
    pub line_alias: Option<LineAlias>,
    /// First-level translations of data.
    pub dtlb: Tlb,
}

/// Loads on their way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loads {
    /// Load queue.
    pub entries: u32,
    /// Ports that loads are issued to.
    pub ports: Vec<String>,
    /// Ports that also take loads into vector registers; the same, if empty.
    #[serde(default)]
    pub vector_ports: Vec<String>,
    /// Loads of general-purpose registers a cycle, over all ports.
    pub rate: u32,
    /// Loads of vectors a cycle.
    pub vector_rate: u32,
    /// Bytes of the widest load that one access does; a wider one takes several.
    pub width: u32,
    /// As how many accesses that begin a wider one counts, and a wider store as those that it is, where each port for
    /// addresses begins one a cycle; without this, wide ones take no more of it than others.
    pub wide_issue_slots: Option<f64>,
    /// Cycles from address to general-purpose register.
    pub latency: u32,
    /// More cycles if the address has an index (or, for Intel, is not base + less than 2048).
    #[serde(default)]
    pub complex_address: u32,
    /// True if an index that is not scaled costs nothing more in an address without displacement.
    #[serde(default)]
    pub simple_index: bool,
    /// True if `latency` holds only for an address whose one register a plain load gave, less than
    /// 2048 bytes after it (Intel); any other counts as complex.
    #[serde(default)]
    pub pointer_chasing: bool,
    /// Cycles from address to vector register.
    pub vector_latency: u32,
    /// More cycles for a load across a line.
    pub split: u32,
    /// Banks of a line of the first level, if they have one port each: of loads that start in one cycle and
    /// want one bank in different sets, one waits a cycle.
    pub banks: Option<u32>,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Stores on their way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stores {
    /// Store queue.
    pub entries: u32,
    /// Ports that compute a store's address.
    pub address_ports: Vec<String>,
    /// Those that do so only for addresses without an index too (Haswell's seventh port).
    #[serde(default)]
    pub simple_address_ports: Vec<String>,
    /// Ports that take a store's data from a general-purpose register; none if the address port does.
    #[serde(default)]
    pub data_ports: Vec<String>,
    /// Ports that take a store's data from a vector; the same, if empty.
    #[serde(default)]
    pub vector_data_ports: Vec<String>,
    /// Stores of general-purpose registers issued a cycle, over all ports.
    pub rate: u32,
    /// Stores of vectors issued a cycle.
    pub vector_rate: u32,
    /// Bytes of the widest store that one access does.
    pub width: u32,
    /// Stores that leave the queue for the cache in one cycle.
    pub commit: u32,
    /// Those that leave it in one cycle if they are to one line.
    pub commit_same_line: u32,
    /// So many lines that were stored to last: a second store to one of them leaves the queue in the same cycle, too,
    /// whatever the line of the first. None: no line is remembered.
    #[serde(default)]
    pub commit_lines: u32,
    /// Bytes of aligned memory that count as one line for that, if they are fewer than a line's.
    pub commit_bytes: Option<u32>,
    /// More cycles for a store across a line.
    pub split: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Loads that are renamed to a store's register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryRenaming {
    /// Those with the same registers, unchanged since, and the same displacement, and those by the stack pointer.
    Any,
    /// Those by the stack pointer, which may have been moved.
    Stack,
}

/// From a store to a load of the same bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forwarding {
    /// Cycles from a store's data to the general-purpose register of a load that it covers.
    pub latency: u32,
    /// Latency of a load into a vector register, in cycles.
    pub vector_latency: u32,
    /// Which loads are renamed to the store's register, and take no time; none if the core does not do that.
    pub renamed: Option<MemoryRenaming>,
    /// True if that holds for loads that are an operand of a computation, too (`add rax, [rdi]`).
    #[serde(default)]
    pub renamed_operands: bool,
    /// True if loads of the lowest bytes of a store are renamed, too, and loads of 8 and 16 bits that are not zero-extended.
    /// They come a cycle late after a plain store of 8 or 16 bits.
    #[serde(default)]
    pub renamed_parts: bool,
    /// Loads whose store is remembered: one that gets its bytes from the same store again takes no time either.
    #[serde(default)]
    pub predictive_forwarding: u32,
    /// More cycles than the store needs to reach the cache, if it covers the load in part only.
    pub failure: u32,
    /// True if a load is issued as soon as its address is known, and once more if the store whose bytes it gets has not
    /// handed them over by then; else it is issued when it has.
    #[serde(default)]
    pub early_issue: bool,
    /// More cycles for a load after a store to another page at the same offset in it.
    #[serde(default)]
    pub alias: u32,
    /// True if that holds for a store of a sibling, too.
    #[serde(default)]
    pub alias_beside: bool,
    /// Source of the figures.
    pub source: String,
}

/// Lines that are found by a part of their linear address: an access to one through another address of the
/// same memory misses it at first, and finds it by that address later. One after the other is looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Microtags {
    /// Cycles until the line is found.
    pub latency: u32,
    /// Cycles between two lines that are looked for.
    #[serde(default)]
    pub interval: u32,
    /// Accesses more for each load of the line until it is found.
    pub conflict_accesses: u32,
    /// Accesses more to find the line.
    pub retag_accesses: u32,
    /// Source of the figures.
    pub source: String,
}

/// Lines that the first level cannot hold at once: it tells them apart by the lowest bits of their linear addresses alone
/// (NetBurst's 64K aliasing).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineAlias {
    /// Bits of a linear address, those inside a line among them, by which lines are distinguished.
    pub bits: u32,
    /// Source of the figures.
    pub source: String,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// KiB.
    pub kib: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Which line leaves.
    #[serde(default = "Replacement::of_first_level")]
    pub replacement: Replacement,
    /// Cycles that a miss costs more, if the next level has it.
    pub miss: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Address translations of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// Pages.
    pub entries: u32,
    /// Pages of a set; as many as entries if any page may lie anywhere.
    pub ways: u32,
    /// Huge pages, where these have a table of their own, with as many to a set; without this they are among the others.
    pub huge: Option<u32>,
    /// Cycles that a miss costs, if the next level has it.
    pub miss: u32,
    /// True if loads and stores of a page have taken their port for nothing until its translation is there, and are issued
    /// again.
    #[serde(default)]
    pub repeats: bool,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}
