//! Why slots of renaming are not used: what a thread's cycles are lost to.

use crate::core::cycle_stack::{Component, Shared};
use crate::core::thread::SiblingEntries;
use crate::core::{Core, InstructionSource};
use crate::memory::Origin;
use crate::uops::{Buffer, Kind, NEVER};

impl<F: InstructionSource> Core<F> {
    /// Cause of the slots lost while there is nothing to rename.
    pub(super) fn front_end_stall(&self, index: usize) -> Component {
        let thread = &self.threads[index];
        if thread.paused > self.now {
            Component::Serializing
        } else if thread.fetcher.recovers(self.now) {
            Component::Mispredict
        } else if let Some(evicted) = thread.fetcher.evicted(self.now) {
            let is_second = evicted.is_second;
            Component::Sibling(if is_second { Shared::L2 } else { Shared::L1i })
        } else if thread.fetcher.was_kept_out() {
            Component::Sibling(Shared::FrontEnd)
        } else if thread.fetcher.has_nothing() {
            let waits = thread.fetcher.awaits_sync();
            self.cause(index, if waits { Component::Waiting } else { Component::FrontEnd })
        } else {
            Component::FrontEnd
        }
    }

    /// Component that slots are lost to when siblings have entries of a full buffer of which the thread
    /// would have `more` beside its `own` by itself.
    ///
    /// If its oldest micro-op is a miss, that many more instructions could be under way meanwhile, and misses
    /// among them be over sooner: with misses that do not wait for each other a window of W(1 + g) instructions spares
    /// g / (1 + g) of the time that one of W takes, so that this share is the siblings'. Else a chain of short micro-ops
    /// is no sooner at its end, and the siblings are to blame until the entries would be full. Where the oldest
    /// micro-op waits for a port or a line that a sibling took, that is what counts.
    pub(super) fn lost(
        &mut self,
        index: usize,
        (full, shared): (Component, Shared),
        own: u32,
        more: u32,
    ) -> Component {
        let cause = self.cause(index, full);
        if matches!(cause, Component::Sibling(_) | Component::Port(_)) {
            return cause;
        }
        let rob = self.parameters.limits.of(Buffer::Rob);
        let dispatch = self.parameters.widths.dispatch;
        let (now, thread) = (self.now, &mut self.threads[index]);
        let is_miss = matches!(cause, Component::Memory(origin) if origin != Origin::L1);
        let head = thread.rob.head();
        if thread.sibling_entries.to.is_none_or(|counted| is_miss && counted != head) {
            let done = thread.rob.uop_at(head).done;
            if is_miss && done == NEVER {
                // It waits for a buffer, for a time not known yet.
                return Component::Sibling(shared);
            }
            let in_flight = thread.rob.count(Buffer::Rob).max(1);
            let room = rob.alone.saturating_sub(in_flight);
            let cycles = if is_miss {
                let growth = |more: u32, own: u32| f64::from(more) / f64::from(own.max(1));
                let growth = growth(more, own).min(growth(room, in_flight));
                let left = done.saturating_sub(now);
                (left as f64 * growth / (1.0 + growth)) as u64
            } else {
                more.min(room).div_ceil(dispatch).into()
            };
            thread.sibling_entries = SiblingEntries { to: Some(head), until: now + cycles };
        }
        if now < thread.sibling_entries.until { Component::Sibling(shared) } else { cause }
    }

    /// The instruction that slots are lost to, as block and place in it; none where it is no instruction: nothing comes from the
    /// front end, or siblings have the slots.
    pub(super) fn attributed(&self, index: usize, lost_to: Component) -> Option<(u32, u32)> {
        let thread = &self.threads[index];
        match lost_to {
            Component::Mispredict => thread.mispredicted,
            Component::Retiring | Component::FrontEnd | Component::Waiting => None,
            Component::Sibling(Shared::FrontEnd | Shared::Dispatch | Shared::L1i) => None,
            _ => thread.rob.instruction_at_head(),
        }
    }

    /// Component that the oldest micro-op waits for; `full` if that explains nothing.
    pub(super) fn cause(&self, index: usize, full: Component) -> Component {
        let thread = &self.threads[index];
        let Some(oldest) = thread.rob.oldest_uop() else { return full };
        if oldest.done <= self.now {
            return match thread.rob.is_held(self.now) {
                true => Component::Memory(Origin::OtherCore),
                false => full,
            };
        }
        let is_load = matches!(oldest.kind, Kind::Load(_));
        let is_evicted = oldest.evicted.cycles > 0
            && self.now.saturating_add(oldest.evicted.cycles.into()) >= oldest.done;
        let data = match (is_load, oldest.is_forwarded) {
            (true, true) => Component::Forwarding,
            (true, false) if is_evicted => Component::Sibling(match oldest.evicted.is_second {
                true => Shared::L2,
                false => Shared::L1d,
            }),
            (true, false) => Component::Memory(oldest.origin),
            (false, _) => Component::Dependency,
        };
        let has_operands = oldest.pending == 0 && oldest.ready <= self.now;
        let group = || {
            let (group, requester) = self.schedulers.port(index, oldest.port);
            match requester == index || self.threads.len() == 1 {
                true => Component::Port(group),
                false => Component::Sibling(Shared::Ports),
            }
        };
        if oldest.done == NEVER {
            match (has_operands, oldest.is_forwarded) {
                _ if oldest.awaits_buffer() => data,
                (true, _) if oldest.has_port => group(),
                (_, true) => Component::Forwarding,
                _ => Component::Dependency,
            }
        } else if oldest.waited >= oldest.latency && oldest.has_port {
            group()
        } else {
            data
        }
    }
}
