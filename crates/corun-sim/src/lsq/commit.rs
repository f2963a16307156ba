//! Stores leave the queue in program order once they are retired, and reach the cache.

use crate::lsq::store_queue::StoreQueue;
use crate::memory::{Memory, Request};
use crate::parameters::Parameters;
use crate::uops::Handle;

/// Stores of one thread that were committed in one cycle.
#[derive(Debug, Default)]
pub(crate) struct CommitCycle {
    done: u32,
    /// Address of the last one.
    place: Option<u64>,
    /// The last one takes longer.
    is_over: bool,
}

impl CommitCycle {
    pub(crate) fn is_any(&self) -> bool {
        self.done > 0
    }
}

/// A store that is committed.
pub(crate) struct Committed {
    /// Loads that wait for it, and so many cycles longer.
    pub(crate) waiting: Vec<(Handle, u32)>,
    /// From when on they find its bytes in the cache.
    pub(crate) at: u64,
}

impl StoreQueue {
    /// Commits the oldest store, if it is retired, has its line and fits into this cycle.
    pub(crate) fn commit(
        &mut self,
        cycle: &mut CommitCycle,
        request: Request,
        parameters: &Parameters,
        memory: &mut Memory,
        now: u64,
    ) -> Option<Committed> {
        let rates = &parameters.load_store;
        if cycle.is_over || cycle.done >= rates.commit_same_line.max(rates.commit) {
            return None;
        }
        let gathered = self.gathered;
        let oldest = self.ready(now)?;
        let (store, shift) = (&oldest.store, rates.line_shift);
        let (address, size, streams) = (store.address, store.size, store.streams);
        let first = address >> shift;
        let is_split = first != (address + u64::from(size.max(1)) - 1) >> shift;
        if !gathered.may_follow(first, now) {
            return None;
        }
        let request = Request { linear: store.linear, ..request };
        let granted = *oldest.granted.get_or_insert_with(|| {
            if streams {
                return memory.stream(request, now).ready;
            }
            let owned = memory.owned(request, now);
            owned.unwrap_or_else(|| memory.read_for_ownership(request, now).ready)
        });
        let gathers = granted > now && !is_split && !streams && memory.is_contended(request);
        if granted > now && !gathers {
            return None;
        }
        let place = address >> rates.commit_shift;
        let follows =
            cycle.done < rates.commit || cycle.place == Some(place) || self.was_stored_to(first);
        if !follows || (is_split && cycle.done > 0) {
            return None;
        }
        let parts = u64::from(u32::from(size).div_ceil(rates.store_width));
        let free = match is_split {
            true => now + 1 + u64::from(parameters.penalties.store_split),
            false if parts > 1 => now + parts,
            false => now,
        };
        if gathers {
            self.gathered.take(first, granted);
        }
        self.note_line(first, rates.commit_lines);
        *cycle = CommitCycle { done: cycle.done + 1, place: Some(place), is_over: free > now };
        Some(Committed { waiting: self.pop(free), at: granted.max(now) + 1 })
    }
}
