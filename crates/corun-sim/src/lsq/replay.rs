//! Loads that have their addresses, and of which memory cannot be asked yet: the first level misses them, and all buffers
//! for its misses are taken. Those that came first ask first; what prefetchers bring until then they find.

use smallvec::SmallVec;

use crate::core::in_flight::Handle;
use crate::core::thread::MAX_THREADS;
use crate::core::{Core, InstructionSource};
use crate::memory::{Memory, Request};

impl<F: InstructionSource> Core<F> {
    /// Lets a load wait if it has to.
    pub(crate) fn must_wait(&mut self, handle: Handle, memory: &mut Memory) -> bool {
        // What a store hands over never misses.
        let is_forwarded = self.in_flight(handle).is_forwarded;
        let requester = self.threads[handle.thread()].requester;
        if is_forwarded
            || memory.has_buffer(self.number, requester, self.now)
            || memory.may_ask(self.wanted(handle), self.now).is_ok()
        {
            return false;
        }
        let thread = &mut self.threads[handle.thread()];
        thread.mshr_blocked.push_back(handle);
        thread.in_flight_uops.get_mut(handle).wait_for_buffer();
        true
    }

    /// Replays the loads for which an MSHR is free by now.
    pub(crate) fn replay_blocked_loads(&mut self, memory: &mut Memory) {
        self.next_replay = None;
        if self.threads.iter().all(|thread| thread.mshr_blocked.is_empty()) {
            return;
        }
        // Of all threads, the oldest first: none takes every buffer from another.
        let mut threads: SmallVec<[usize; MAX_THREADS]> = (0..self.threads.len())
            .filter(|&index| !self.threads[index].mshr_blocked.is_empty())
            .collect();
        while let Some((place, handle)) = self.oldest_blocked(&threads) {
            if let Err(free) = memory.may_ask(self.wanted(handle), self.now) {
                self.next_replay = self.next_replay.into_iter().chain([free]).min();
                threads.swap_remove(place);
                continue;
            }
            let thread = &mut self.threads[handle.thread()];
            thread.mshr_blocked.pop_front();
            if thread.mshr_blocked.is_empty() {
                threads.swap_remove(place);
            }
            let in_flight = self.in_flight(handle);
            let latency = u64::from(in_flight.latency) + u64::from(in_flight.extra);
            let done = self.load_now(handle, latency, memory);
            self.is_active = true;
            self.finish(handle, done, None);
        }
    }

    /// The first line that a load wants.
    fn wanted(&self, handle: Handle) -> Request {
        let in_flight = self.in_flight(handle);
        self.request(handle.thread(), in_flight.instruction.into(), in_flight.address)
    }

    /// The load to replay next, and the place of its thread among `threads`.
    fn oldest_blocked(&self, threads: &[usize]) -> Option<(usize, Handle)> {
        let first = |&index: &usize| self.threads[index].mshr_blocked.front().copied();
        let fronts = threads.iter().enumerate();
        let fronts = fronts.filter_map(|(place, index)| Some((place, first(index)?)));
        fronts.min_by_key(|&(_, handle)| self.in_flight(handle).age)
    }
}
