//! Loads that have their addresses, and of which memory cannot be asked yet: the first level misses them, and all buffers
//! for its misses are taken. Those that came first ask first; what prefetchers bring until then they find.

use super::flight::Handle;
use super::{Core, Feed};
use crate::code::Kind;
use crate::memory::Memory;

impl<F: Feed> Core<F> {
    /// Lets a load wait if it has to.
    pub(super) fn must_wait(&mut self, handle: Handle, memory: &mut Memory) -> bool {
        let flight = self.flight(handle);
        if !matches!(flight.kind, Kind::Load(_)) || flight.is_forwarded {
            return false;
        }
        let (at, instruction) = (flight.address, flight.instruction.into());
        let request = self.request(handle.thread(), instruction, at);
        if memory.may_ask(request, self.now).is_ok() {
            return false;
        }
        let thread = &mut self.threads[handle.thread()];
        thread.unasked.push_back(handle);
        thread.flights.get_mut(handle).wait_for_buffer();
        true
    }

    /// Asks for what can be asked for by now.
    pub(super) fn ask_anew(&mut self, memory: &mut Memory) {
        self.next_ask = None;
        if self.threads.iter().all(|thread| thread.unasked.is_empty()) {
            return;
        }
        // None has waited for buffers of another thread's for ever: they go by their age.
        let mut threads: smallvec::SmallVec<[usize; 4]> = (0..self.threads.len())
            .filter(|&index| !self.threads[index].unasked.is_empty())
            .collect();
        while let Some((place, handle)) = self.oldest_unasked(&threads) {
            let flight = self.flight(handle);
            let (at, instruction) = (flight.address, flight.instruction.into());
            let request = self.request(handle.thread(), instruction, at);
            if let Err(free) = memory.may_ask(request, self.now) {
                self.next_ask = self.next_ask.into_iter().chain([free]).min();
                threads.swap_remove(place);
                continue;
            }
            let thread = &mut self.threads[handle.thread()];
            thread.unasked.pop_front();
            if thread.unasked.is_empty() {
                threads.swap_remove(place);
            }
            let flight = self.flight(handle);
            let latency = u64::from(flight.latency) + u64::from(flight.extra);
            let done = self.load_now(handle, latency, memory);
            self.is_active = true;
            self.finish(handle, done, None);
        }
    }

    fn oldest_unasked(&self, threads: &[usize]) -> Option<(usize, Handle)> {
        let first = |&index: &usize| self.threads[index].unasked.front().copied();
        let fronts = threads.iter().enumerate();
        let fronts = fronts.filter_map(|(place, index)| Some((place, first(index)?)));
        fronts.min_by_key(|&(_, handle)| self.flight(handle).age)
    }
}
