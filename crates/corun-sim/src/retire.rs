//! The end of the pipeline: results become final in program order, stores reach the cache.

use crate::core::thread::Thread;
use crate::core::{Core, Handle, InstructionSource};
use crate::lsq::operands::lines;
use crate::memory::{Memory, Request};
use corun_model::Policy;

impl<F: InstructionSource> Core<F> {
    /// Lets the oldest retired stores reach the cache.
    pub(crate) fn commit_stores(&mut self, memory: &mut Memory) {
        let (now, core) = (self.now, self.number);
        let count = self.threads.len();
        for place in 0..count {
            let index = self.commit_turn.thread(place, count);
            let mut line = None;
            for done in 0..self
                .parameters
                .load_store
                .commit_same_line
                .max(self.parameters.load_store.commit)
            {
                let thread = &mut self.threads[index];
                let (pages, requester) = (thread.pages, thread.requester);
                let Some(store) = thread.stores.ready(now) else { break };
                let shift = self.parameters.load_store.line_shift;
                let address = store.address;
                let first = address >> shift;
                let last = (address + u64::from(store.size.max(1)) - 1) >> shift;
                let is_split = first != last;
                if !thread.gathered.may_follow(first, now) {
                    break;
                }
                let (linear, streams, size) = (store.linear, store.streams, store.size);
                let request = Request { core, requester, instruction: 0, linear, pages };
                let granted = *store.granted.get_or_insert_with(|| {
                    if streams {
                        return memory.stream(request, now).ready;
                    }
                    let owned = memory.owned(request, now);
                    owned.unwrap_or_else(|| memory.own(request, now).ready)
                });
                let gathers =
                    granted > now && !is_split && !streams && memory.is_contended(request);
                if granted > now && !gathers {
                    break;
                }
                let place = address >> self.parameters.load_store.commit_shift;
                let follows = done < self.parameters.load_store.commit
                    || line == Some(place)
                    || thread.stores.was_stored_to(first);
                if !follows || (is_split && done > 0) {
                    break;
                }
                line = Some(place);
                let parts =
                    u64::from(u32::from(size).div_ceil(self.parameters.load_store.store_width));
                let free = match is_split {
                    true => now + 1 + u64::from(self.parameters.penalties.store_split),
                    false if parts > 1 => now + parts,
                    false => now,
                };
                if gathers {
                    thread.gathered.take(first, granted);
                }
                thread.stores.note_line(first, self.parameters.load_store.commit_lines);
                let waiting =
                    thread.stores.pop(free).map(|store| store.waiting).unwrap_or_default();
                self.is_active = true;
                for (handle, longer) in waiting {
                    self.release(handle, granted.max(now) + 1 + u64::from(longer));
                }
                if free > now {
                    break;
                }
            }
            if line.is_some() && !self.parameters.load_store.own_stores {
                self.commit_turn.take(index);
                break;
            }
        }
    }

    /// One thing less that a micro-op waits for.
    fn release(&mut self, handle: Handle, ready: u64) {
        let in_flight = self.threads[handle.thread()].in_flight_uops.get_mut(handle);
        in_flight.ready = in_flight.ready.max(ready);
        in_flight.pending -= 1;
        if in_flight.pending == 0 {
            let at = in_flight.ready.max(self.now + 1);
            self.wheel.call(self.now, at, handle);
        }
    }

    /// Retires what is done, in order.
    pub(crate) fn retire(&mut self, memory: &Memory) {
        let (count, now) = (self.threads.len(), self.now);
        let retire_hold = self.parameters.penalties.retire_hold;
        let (mut width, policy) =
            (self.parameters.widths.retire, self.parameters.widths.retire_policy);
        // What is wider than a thread ever has is retired all the same.
        let whole = match policy {
            Policy::Partitioned => (width / self.active).max(1),
            _ => width,
        };
        let turn = self.retire_turn;
        let mut is_taken = false;
        for place in 0..count {
            let index = turn.thread(place, count);
            let thread = &mut self.threads[index];
            let head = thread.head;
            while thread.head < thread.next
                && thread.is_final(self.number, now, retire_hold, memory)
            {
                thread.head += 1;
            }
            self.is_active |= thread.head != head;
            let most = match policy {
                Policy::Replicated | Policy::Partitioned => whole,
                Policy::Shared | Policy::Alternating => width,
            };
            let mut left = most;
            let (before, mut has_retired) = (thread.retired, false);
            while let Some(oldest) = thread.rob.front() {
                if thread.ordering_violation.is_some_and(|early| early < oldest.end) {
                    self.machine_clear(index);
                    break;
                }
                let slots = u32::from(oldest.queued.slots);
                if oldest.end > thread.head || slots > left && left < whole {
                    break;
                }
                left = left.saturating_sub(slots);
                thread.entries -= oldest.entries;
                if oldest.stores > 0 {
                    thread.stores.retire(oldest.stores);
                }
                thread.retired += u64::from(oldest.instructions);
                thread.is_held &= !oldest.is_serializing;
                (thread.oldest, thread.is_reexecuting) = (oldest.end, false);
                thread.rob.pop_front();
                has_retired = true;
            }
            let thread = &mut self.threads[index];
            if has_retired {
                self.is_active = true;
                thread.last_retired = now;
                if before == 0 {
                    thread.first_retired = now;
                }
            }
            let retired = thread.retired - before;
            if retired > 0 {
                thread.source.retire(retired);
            }
            width = match policy {
                Policy::Alternating if left < most => 0,
                _ => left,
            };
            if left < most && !is_taken {
                self.retire_turn.take(index);
                is_taken = true;
            }
        }
    }
}

impl<F> Thread<F> {
    /// Whether its oldest micro-op is done, and need not wait because another core may take back what
    /// it loaded.
    #[inline]
    fn is_final(&mut self, core: usize, now: u64, retire_hold: u64, memory: &Memory) -> bool {
        let in_flight = self.in_flight_uops.at(self.head);
        if in_flight.done > now {
            return false;
        }
        let until = in_flight.done + retire_hold;
        if until <= now || !in_flight.is_snooped() || !memory.is_any_contended() {
            return true;
        }
        let (requester, pages) = (self.requester, self.pages);
        let is_contended = lines(in_flight.address, in_flight.span.into()).any(|linear| {
            memory.is_contended(Request { core, requester, instruction: 0, linear, pages })
        });
        if is_contended {
            self.held_until = until;
        }
        !is_contended
    }
}
