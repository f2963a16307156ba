//! The replay stage: loads that have their addresses, and found no MSHR.

use crate::core::{Core, InstructionSource};
use crate::memory::{Memory, Request};
use crate::uops::Handle;

impl<F: InstructionSource> Core<F> {
    /// Blocks a load that memory does not accept. Returns whether it does not.
    pub(super) fn must_wait(&mut self, handle: Handle, memory: &mut Memory) -> bool {
        // What a store hands over never misses.
        let is_forwarded = self.in_flight(handle).is_forwarded;
        let requester = self.threads[handle.thread()].requester;
        if is_forwarded
            || memory.has_free_mshr(self.number, requester, self.now)
            || memory.can_accept_load(self.wanted(handle), self.now).is_ok()
        {
            return false;
        }
        let age = self.threads[handle.thread()].rob.block(handle);
        self.loads.block(handle, age);
        true
    }

    /// Replays the loads for which an MSHR is free by now.
    pub(super) fn replay_blocked_loads(&mut self, memory: &mut Memory) {
        self.loads.begin();
        while let Some(handle) = self.loads.oldest() {
            if let Err(free) = memory.can_accept_load(self.wanted(handle), self.now) {
                self.loads.refuse(handle, free);
                continue;
            }
            self.loads.replay(handle);
            let uop = self.in_flight(handle);
            let latency = u64::from(uop.latency) + u64::from(uop.extra);
            let done = self.load_now(handle, latency, memory);
            self.is_active = true;
            self.finish(handle, done, None);
        }
    }

    /// The first line that a load wants.
    fn wanted(&self, handle: Handle) -> Request {
        let uop = self.in_flight(handle);
        self.request(handle.thread(), uop.instruction.into(), uop.address)
    }
}
