//! The load-store queues: stores until they have reached the cache, forwarding to loads, loads that wait for an MSHR,
//! and what bounds the accesses of a cycle.

mod agu;
mod bandwidth;
mod banks;
mod commit;
mod forwarding;
mod load_queue;
mod microtags;
mod predictive_forwarding;
mod repeats;
mod store_queue;
mod translation;

pub(crate) use commit::CommitCycle;
pub(crate) use forwarding::{Load, RenamedTo, Search};
pub(crate) use load_queue::LoadQueue;
pub(crate) use store_queue::{Store, StoreQueue};

use bandwidth::Bandwidth;
use microtags::Microtags;
use repeats::Repeats;
use translation::LateTranslations;

use crate::execute::MostAccesses;
use crate::memory::{Pages, Reply};
use crate::parameters::LoadStore;
use crate::uops::InFlightUop;
use corun_model::CoreModel;

/// The units of a core that all its loads and stores use.
#[derive(Debug)]
pub(crate) struct LoadStoreUnit {
    bandwidth: Bandwidth,
    tags: Microtags,
    translations: LateTranslations,
    repeats: Repeats,
}

impl LoadStoreUnit {
    /// Of a core with so many threads.
    pub(crate) fn of(model: &CoreModel, threads: usize) -> Self {
        Self {
            bandwidth: Bandwidth::of(model, threads),
            tags: Microtags::of(model),
            translations: LateTranslations::of(model),
            repeats: Repeats::default(),
        }
    }

    /// A cycle begins, in which accesses that are repeated take the place of others.
    pub(crate) fn begin(&mut self, rates: &LoadStore) {
        let repeated = self.repeats.take(rates.load_rate, rates.store_rate);
        self.bandwidth.begin(rates, repeated);
    }

    /// The most accesses of this cycle.
    #[inline]
    pub(crate) fn most_accesses(&self) -> MostAccesses {
        self.bandwidth.most()
    }

    /// Takes the bandwidth for a thread's access, if this cycle has that.
    #[inline]
    pub(crate) fn take_bandwidth(&mut self, thread: usize, uop: &InFlightUop) -> bool {
        self.bandwidth.take(thread, uop)
    }

    /// Cycles by which an access finds its line later, where the first level finds lines by their linear addresses.
    pub(crate) fn find_line(&mut self, address: u64, pages: Pages, is_load: bool, now: u64) -> u64 {
        if !(pages.are_one() && self.tags.is_of_use()) {
            return 0;
        }
        let (later, repeated) = self.tags.access(address, pages.physical(address), now);
        // A store has its address all the same, and goes to the cache when it is retired.
        if is_load {
            self.repeats.add(true, repeated);
        }
        later
    }

    /// Lets an access to a linear address wait for its translation, where it takes its port once more then.
    pub(crate) fn await_translation(
        &mut self,
        linear: u64,
        is_load: bool,
        reply: &mut Reply,
        now: u64,
    ) {
        let (translated, repeated) = self.translations.access(linear, now, reply.translation);
        if repeated > 0 {
            reply.ready = reply.ready.max(translated);
            self.repeats.add(is_load, repeated);
        }
    }
}
