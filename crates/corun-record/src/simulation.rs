//! A recorded program, simulated: how many cycles it takes on a core, and where they go.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page_size::PageSize;
use crate::record::Body;

/// Document that `corun simulate TRACE --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// The core that was simulated.
    pub core: SimulatedCore,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Instructions before those that count.
    pub warmup: u64,
    /// The page size of the program's data.
    #[serde(default)]
    pub pages: PageSize,
    /// Instructions that count.
    pub instructions: u64,
    /// Their cycles.
    pub cycles: u64,
    /// Instructions a cycle.
    pub ipc: f64,
    /// The clock that cycles were converted to seconds with, in GHz.
    pub ghz: f64,
    /// The cycles in seconds.
    pub seconds: f64,
    /// Mispredicted branches.
    pub mispredicts: u64,
    /// Requests to the memory hierarchy.
    pub requests: MemoryRequests,
    /// Cycles by what they went to; they add up to all cycles.
    #[serde(with = "crate::ordered")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub stack: Vec<(String, f64)>,
    /// The mean number of taken entries of each buffer.
    #[serde(with = "crate::ordered")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub occupancy: Vec<(String, f64)>,
    /// Forms of instruction that the timing table has no row for, with the number of places in the code.
    pub unknown_forms: BTreeMap<String, u64>,
    /// For each width of a division in the code, the bits of its quotient that were assumed.
    #[serde(default)]
    #[schemars(with = "BTreeMap<u32, u32>")]
    pub assumed_quotients: BTreeMap<u32, u32>,
    /// Provenance of the timings of the executed instructions.
    pub timing_rows: TimingRows,
}

/// A core model that was simulated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedCore {
    /// The model's name.
    pub model: String,
    /// The machine that its figures are of.
    pub title: String,
    /// Fields of the model that were set otherwise, with their values as text.
    pub settings: BTreeMap<String, String>,
}

/// Requests of a core to the memory hierarchy, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRequests {
    /// Loads and stores of lines that the first-level data cache did not have.
    pub l1d_misses: u64,
    /// Lines of code that the first level did not have.
    pub l1i_misses: u64,
    /// Requests of the first level, also those of its prefetchers, that the second did not have.
    pub l2_misses: u64,
    /// Misses of the first level of which the second had nothing either, without those of prefetchers.
    pub l2_demand_misses: u64,
    /// Those of them of which the last level had nothing either.
    pub l3_demand_misses: u64,
    /// Lines that came from memory, also those that prefetchers requested.
    pub main: u64,
    /// Lines that came from another core.
    pub transfers: u64,
    /// Page walks.
    pub walks: u64,
    /// Lines that prefetchers requested.
    pub prefetches: u64,
}

impl MemoryRequests {
    /// Name and number of each kind.
    pub fn by_name(&self) -> [(&'static str, u64); 7] {
        [
            ("L1D misses", self.l1d_misses),
            ("L1I misses", self.l1i_misses),
            ("L2 misses", self.l2_misses),
            ("from memory", self.main),
            ("from another core", self.transfers),
            ("page walks", self.walks),
            ("prefetched lines", self.prefetches),
        ]
    }

    /// The sum of two counts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::wrapping_add)
    }

    /// The difference from an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::wrapping_sub)
    }

    fn with(&self, other: &Self, by: fn(u64, u64) -> u64) -> Self {
        Self {
            l1d_misses: by(self.l1d_misses, other.l1d_misses),
            l1i_misses: by(self.l1i_misses, other.l1i_misses),
            l2_misses: by(self.l2_misses, other.l2_misses),
            l2_demand_misses: by(self.l2_demand_misses, other.l2_demand_misses),
            l3_demand_misses: by(self.l3_demand_misses, other.l3_demand_misses),
            main: by(self.main, other.main),
            transfers: by(self.transfers, other.transfers),
            walks: by(self.walks, other.walks),
            prefetches: by(self.prefetches, other.prefetches),
        }
    }
}

/// Simulated instructions by how well their timing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimingRows {
    /// All of them.
    pub executed: u64,
    /// Those whose form has no row in the timing table: they took the timing of their class.
    pub by_class: u64,
    /// Those that took a row inherited from an older core.
    pub inherited: u64,
    /// Those that took a row that is derived from another form's or assumed.
    #[serde(default)]
    pub derived: u64,
}

impl Body for Simulation {
    const FORMAT: &str = "corun-simulation";
}
