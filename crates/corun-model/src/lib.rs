//! A core as data: what it has of everything, how siblings share it, and where each figure is from.
//!
//! A model is one TOML file in `models/` and one table of instruction timings in `models/timing/`. The
//! simulator knows no core by name: what two cores do differently is a field here.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod back;
mod check;
mod clock;
mod document;
pub mod encodings;
mod error;
mod errors;
mod front;
mod hierarchy;
mod host;
mod library;
mod memory;
mod places;
mod published;
mod setting;
mod sharing;
mod sources;
pub mod timing;
mod validation;
mod variants;

/// Ports of a core at most: a set of them is one word.
pub const MAX_PORTS: u32 = 32;
/// Micro-ops of a thread in flight at most.
pub const MAX_IN_FLIGHT: u32 = 2048;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use back::{
    BackEnd, Bulk, Division, Elimination, MoveSlots, NonSchedulingQueue, PortAssignment, Registers,
    Repetition, Scheduler, Share,
};
pub use check::WIDEST;
pub use clock::Clock;
pub use document::{checked, description, differences, listed};
pub use error::{Fault, ModelError};
pub use errors::{PredictionError, PredictionErrors};
pub use front::{
    BranchPrediction, Choice, Constants, Decoder, Fetch, FrontEnd, Fusion, Indirect, LoopBuffer,
    MicrocodeSequencer, OpCache, Predecoder, Queue, Tage,
};
pub use hierarchy::{
    AllCores, CacheSize, Coherence, Fills, Hierarchy, Holds, LINE, LastLevel, Level, LinePrefetch,
    MainMemory, Prefetch, Replacement, SecondTlb, Walk, WalkCache,
};
pub use host::{Fit, HostCore, Suited, host_core, suited};
pub use library::{FORMAT, VERSION, all, designs, find, names};
pub use memory::{
    Cache, Forwarding, LineAlias, Loads, MemoryPipeline, MemoryRenaming, Microtags, Stores, Tlb,
};
pub use published::{
    Comparison, PublishedError, compare_published, cycles_of_many, published_figure,
};
pub use setting::is_setting_of;
pub use sharing::{Policy, Sharing};
pub use sources::named_sources;
pub use validation::{MIN_CHECKED, Validation, validation_caveat};
pub use variants::Resource;

/// A core, as its model file describes it.
///
/// Sizes are entries, latencies core cycles, rates events a cycle, unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreModel {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// The folder of its file, if it does not come with corun: timing tables of its own lie there.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// The model whose core this one has, where it is a variant of one.
    #[serde(skip)]
    pub base: Option<String>,
    /// The machine that the figures are of, in one line.
    pub title: String,
    /// Who designed it.
    pub vendor: Vendor,
    /// Hardware threads a core.
    pub smt_width: u32,
    /// The clock in GHz that cycles are converted with where no machine is available.
    pub gigahertz: f64,
    /// Name of the table in `models/timing/` with the timing of instruction forms.
    pub timing: String,
    /// Names of tables laid over it, measured values for instance; the last one wins.
    #[serde(default)]
    pub overlays: Vec<String>,
    /// Short names of sources, each with its citation.
    pub sources: BTreeMap<String, String>,
    /// Figures that no source gives, by field, each with where it is from then.
    #[serde(default)]
    pub estimates: BTreeMap<String, String>,
    /// Clock with busy siblings.
    pub clock: Option<Clock>,
    /// From addresses to micro-ops in order.
    pub front: FrontEnd,
    /// From micro-ops in order to results.
    pub back: BackEnd,
    /// Loads, stores, and the first level of data.
    pub memory: MemoryPipeline,
    /// Memory hierarchy beyond the first level.
    pub hierarchy: Hierarchy,
}

impl CoreModel {
    /// Clock with busy siblings, or how far it is assumed to fall where the model has nothing on it.
    pub fn sibling_clock(&self) -> Clock {
        self.clock.clone().unwrap_or_else(Clock::unknown)
    }
}

/// Whose rules of decoding and fusing apply where no field gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// No real one.
    Generic,
}
