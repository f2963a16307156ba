//! Loads that seem to read what a sibling is about to store.
//!
//! Loads are compared with the stores on their way by the offset in their pages, those of siblings among them: one that
//! agrees with a sibling's store is issued again, wherever the two pages lie (Sullivan et al. 2018; Moghimi, Eisenbarth and
//! Sunar 2018).

use crate::core::{Core, InstructionSource};
use crate::uops::{Handle, InFlightUop};

impl<F: InstructionSource> Core<F> {
    /// Cycles more for a load that starts now.
    #[inline]
    pub(super) fn alias_beside(&self, handle: Handle) -> u64 {
        let alias = self.parameters.penalties.alias_beside;
        if alias == 0 {
            return 0;
        }
        let &InFlightUop { address, span, is_forwarded, .. } = self.in_flight(handle);
        // Its own thread's store has its bytes.
        if is_forwarded {
            return 0;
        }
        let offset = self.threads[handle.thread()].pages.offset(address);
        let mut siblings = (0..).zip(&self.threads).filter(|(index, _)| *index != handle.thread());
        let is_met = siblings.any(|(_, sibling)| {
            let mut stores = sibling.stores.at_offset(offset, span);
            // Stores whose addresses are known.
            stores.any(|store| sibling.rob.is_done(store.data - 1, self.now))
        });
        if is_met { alias } else { 0 }
    }
}
