//! Store-to-load forwarding: what a load finds in the store queue when it is renamed.

use crate::lsq::predictive_forwarding::Before;
use crate::lsq::store_queue::{Overlap, StoreQueue};
use crate::parameters::LoadStore;
use crate::uops::Memory as Place;
use corun_model::MemoryRenaming;

/// A load that searches the store queue.
pub(crate) struct Load<'a> {
    pub(crate) place: &'a Place,
    /// First byte, linear and physical.
    pub(crate) linear: u64,
    pub(crate) address: u64,
    /// A number for its instruction.
    pub(crate) instruction: u32,
    /// The versions of its address's registers.
    pub(crate) versions: [u64; 2],
}

/// Result of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Search {
    /// No store of these bytes.
    Miss,
    /// This one, which cannot be forwarded: the load waits until it has reached the cache.
    Blocked(u64),
    /// One whose data this micro-op hands over.
    Forwarded(u64),
    /// One to whose register the load is renamed.
    Renamed(RenamedTo),
}

/// The producer of a renamed load's result (memory renaming).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenamedTo {
    /// The micro-op that gives the store's data.
    pub(crate) data: u64,
    /// Cycles after that.
    pub(crate) later: u8,
}

impl StoreQueue {
    /// Searches for the youngest store of a load's bytes.
    pub(crate) fn search(&mut self, load: &Load<'_>, parameters: &LoadStore) -> Search {
        let Load { place, linear, address, .. } = *load;
        let number = match self.overlap(address, place.size) {
            None => return Search::Miss,
            Some(Overlap::Part(number)) => return Search::Blocked(number),
            Some(Overlap::Whole(number)) => number,
        };
        let store = self.get(number);
        // The queue is searched by linear addresses: bytes that were stored through another one wait for the cache.
        if store.linear.wrapping_sub(store.address) != linear.wrapping_sub(address) {
            return Search::Blocked(number);
        }
        let data = store.data;
        if !(place.may_be_renamed && store.is_general) {
            return Search::Forwarded(data);
        }
        let is_same_place = store.name == place.name && store.versions == load.versions;
        // The front end follows the stack pointer, however it is moved.
        let is_same_on_stack = store.is_on_stack && place.is_on_stack && store.linear == linear;
        let is_renamed = match parameters.renamed {
            None => false,
            Some(MemoryRenaming::Any) => is_same_place || is_same_on_stack,
            Some(MemoryRenaming::Stack) => is_same_on_stack,
        };
        let is_of_size = match parameters.renamed_parts {
            true => store.size >= place.size,
            false => store.size == place.size,
        };
        let to = RenamedTo { data, later: store.renamed_later };
        let between = self.youngest().map_or(0, |youngest| youngest - number);
        let before = Before { instruction: store.instruction, between };
        let is_foreseen = self.predictor.meet(load.instruction, before);
        if is_foreseen || is_renamed && is_of_size {
            Search::Renamed(to)
        } else {
            Search::Forwarded(data)
        }
    }
}
