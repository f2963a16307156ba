//! Probe of the last-level cache and memory of a machine that other programs use at the same time.
//!
//! Their latencies differ between machines of one core, a virtual machine walks nested page tables, and interference varies
//! from minute to minute. Pointer-chase rings are therefore timed between the runs of a measured program, and the model's
//! memory parameters are fitted to the readings.

mod fit;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod probe;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod unsupported;

use corun_model::CoreModel;
use corun_sim::PointerChaseRing;

use crate::memory::PAGE;

pub use fit::{ImplausibleFit, fit_memory};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use probe::InterferenceProbe;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use unsupported::InterferenceProbe;

/// A reading: cycles of a dependent load in each ring, and the read bandwidth of one core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterferenceReading {
    /// In a ring that fits into the last level even under contention.
    pub last_level: f64,
    /// In the contended working set, which fits only while others use little of the last level.
    pub contended: f64,
    /// In a ring that does not fit.
    pub main: f64,
    /// In a ring of one line in each of more pages than the TLBs hold; the L2 holds the lines.
    pub pages: f64,
    /// Read bandwidth along two streams, in GB (10^9 bytes) per second.
    pub gigabytes_a_second: f64,
}

/// The rings that are timed, sized for the caches of a core model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRings {
    last_level: PointerChaseRing,
    contended: PointerChaseRing,
    main: PointerChaseRing,
    pages: PointerChaseRing,
}

impl ProbeRings {
    /// Sizes the rings for a model; none without a shared last level.
    pub fn of(model: &CoreModel) -> Option<Self> {
        let last = u64::from(model.hierarchy.l3.as_ref()?.kib) << 10;
        let second = u64::from(model.hierarchy.l2.kib) << 10;
        let of_lines = |bytes: u64| PointerChaseRing::of_lines(bytes.min(MAX_MEMORY));
        let known = model.hierarchy.stlb.as_ref().map_or(0, |stlb| stlb.entries);
        Some(Self {
            last_level: of_lines((3 * second).min(last / 4)),
            contended: of_lines(last / 4),
            main: of_lines(2 * last),
            pages: PointerChaseRing::of_pages(
                (known / 3 * 8).clamp(512, MAX_MEMORY as u32 / PAGE as u32),
            ),
        })
    }

    /// Times of the rings on a model that has the core and its memory to itself, but for background fills.
    pub fn simulated(&self, model: &CoreModel) -> InterferenceReading {
        InterferenceReading {
            last_level: self.last_level.cycles(model),
            contended: self.contended.cycles(model),
            main: self.main_on(model),
            pages: self.pages.cycles(model),
            gigabytes_a_second: model.hierarchy.main.gigabytes_a_second,
        }
    }

    /// Cycles of a load in the ring of main memory, as the probe times it.
    fn main_on(&self, model: &CoreModel) -> f64 {
        self.main.cycles_after(WARM_UP_OF_MAIN, LOADS, model)
    }
}

/// Loads that are timed together.
const LOADS: usize = 200_000;
/// Loads before those of main memory. Caches keep little of its ring, so that no round of it is needed.
const WARM_UP_OF_MAIN: usize = 2 * LOADS;
/// The largest ring, in bytes.
const MAX_MEMORY: u64 = 64 << 20;
