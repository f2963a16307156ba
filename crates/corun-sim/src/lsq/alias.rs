//! Loads that seem to read what a sibling is about to store.
//!
//! Loads are compared with the stores on their way by the offset in their pages, those of siblings among them: one that
//! agrees with a sibling's store is issued again, wherever the two pages lie (Sullivan et al. 2018; Moghimi, Eisenbarth and
//! Sunar 2018).

use crate::core::in_flight::{Handle, InFlightUop};
use crate::core::thread::Thread;
use crate::core::{Core, InstructionSource};

impl<F: InstructionSource> Core<F> {
    /// Cycles more for a load that starts now.
    #[inline]
    pub(crate) fn alias_beside(&self, handle: Handle) -> u64 {
        let alias = self.parameters.penalties.alias_beside;
        if alias == 0 {
            return 0;
        }
        let thread = &self.threads[handle.thread()];
        let &InFlightUop { address, span, is_forwarded, .. } = self.in_flight(handle);
        // Its own thread's store has its bytes.
        if is_forwarded {
            return 0;
        }
        let offset = thread.pages.offset(address);
        let siblings =
            self.threads.iter().filter(|it| it.requester.thread != thread.requester.thread);
        for sibling in siblings {
            let mut stores = sibling.stores.at_offset(offset, span);
            if stores.any(|store| sibling.has_address(store.data - 1, self.now)) {
                return alias;
            }
        }
        0
    }
}

impl<F> Thread<F> {
    /// Whether a micro-op that gives an address has done so.
    fn has_address(&self, sequence: u64, now: u64) -> bool {
        sequence < self.head || self.in_flight_uops.at(sequence).done <= now
    }
}
