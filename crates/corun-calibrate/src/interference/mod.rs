//! What a core finds behind its second level at a moment, on a machine that others use, too.
//!
//! Last level and memory are no part of a core: a server's are slower than a desktop's, a virtual machine's page tables
//! have two levels of levels, and neighbours take their share, more in one minute than in the next. So rings of loads
//! are timed beside whatever is measured, and the model's memory is set so that it takes as long.

mod fit;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod probe;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod unsupported;

use corun_model::CoreModel;
use corun_sim::PointerChaseRing;

use crate::memory::PAGE;

pub use fit::fit_memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use probe::InterferenceProbe;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use unsupported::InterferenceProbe;

/// Cycles of a load that waits for the one before, in each of the rings; and what one core reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterferenceReading {
    /// In a ring that the last level holds even if others use it.
    pub last_level: f64,
    /// In one that it holds as long as others use little of it.
    pub contended: f64,
    /// In one that it does not hold.
    pub main: f64,
    /// Of a line of each of more pages than translations are remembered; the second level holds the lines.
    pub pages: f64,
    /// GB (10^9 bytes) a second that are read from memory along two streams.
    pub gigabytes_a_second: f64,
}

/// The rings that are timed for a core with these caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRings {
    last_level: PointerChaseRing,
    contended: PointerChaseRing,
    main: PointerChaseRing,
    pages: PointerChaseRing,
}

impl ProbeRings {
    /// Of a model; none without a last level that cores share.
    pub fn of(model: &CoreModel) -> Option<Self> {
        let last = u64::from(model.hierarchy.l3.as_ref()?.kib) << 10;
        let second = u64::from(model.hierarchy.l2.kib) << 10;
        let of_lines = |bytes: u64| PointerChaseRing::of_lines(bytes.min(MOST_MEMORY));
        let known = model.hierarchy.stlb.as_ref().map_or(0, |stlb| stlb.entries);
        Some(Self {
            last_level: of_lines((3 * second).min(last / 4)),
            contended: of_lines(last / 4),
            main: of_lines(2 * last),
            pages: PointerChaseRing::of_pages(
                (known / 3 * 8).clamp(512, MOST_MEMORY as u32 / PAGE as u32),
            ),
        })
    }
}

/// Bytes of the largest ring.
const MOST_MEMORY: u64 = 64 << 20;
