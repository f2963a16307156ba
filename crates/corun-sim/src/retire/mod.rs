//! The reorder buffer: instructions and their micro-ops from renaming until they are final, in program order.

use std::collections::VecDeque;

use crate::frontend::Queued;
use crate::uops::{Buffer, CAPACITY, Entries, InFlightUop, InFlightUops, NEVER};

/// The reorder buffer of one thread, with the register and load queue entries of its instructions.
#[derive(Debug)]
pub(crate) struct ReorderBuffer {
    pub(crate) uops: InFlightUops,
    instructions: VecDeque<Renamed>,
    /// The first micro-op of the oldest instruction.
    oldest: u64,
    /// The oldest micro-op that is not final.
    head: u64,
    /// The micro-op that is renamed next.
    next: u64,
    /// Entries taken of all buffers but the store queue.
    entries: Entries,
    /// An instruction in flight keeps back what comes after it.
    is_serialized: bool,
    /// The oldest load in violation of memory order: once it is the oldest instruction, the pipeline is flushed from it on.
    ordering_violation: Option<u64>,
    /// The oldest instruction is executed again, and then is not too early again.
    is_reexecuting: bool,
    /// Until when the oldest micro-op is not retired because another core may take back what it loaded.
    held_until: u64,
    retired: u64,
    first_retired: u64,
    last_retired: u64,
}

/// An instruction in the reorder buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renamed {
    /// As it was in the queue, but for the slots, which are those that it takes here.
    pub(crate) queued: Queued,
    /// The micro-op after its last one.
    pub(crate) end: u64,
    /// Part of the thread's entries.
    pub(crate) entries: Entries,
    pub(crate) stores: u8,
    pub(crate) instructions: u8,
    pub(crate) is_serializing: bool,
}

/// An instruction that is final.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retired {
    pub(crate) slots: u32,
    pub(crate) stores: u8,
}

impl Default for ReorderBuffer {
    fn default() -> Self {
        Self {
            uops: InFlightUops::default(),
            instructions: VecDeque::new(),
            oldest: 1,
            head: 1,
            next: 1,
            entries: Entries::default(),
            is_serialized: false,
            ordering_violation: None,
            is_reexecuting: false,
            held_until: 0,
            retired: 0,
            first_retired: 0,
            last_retired: 0,
        }
    }
}

impl ReorderBuffer {
    /// The oldest micro-op that is not final; the next one if all are.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// The oldest micro-op, if there is one.
    #[inline]
    pub(crate) fn oldest_uop(&self) -> Option<&InFlightUop> {
        (self.head < self.next).then(|| self.uops.at(self.head))
    }

    /// The micro-op that is renamed next.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// A micro-op has its result by now.
    #[inline]
    pub(crate) fn is_done(&self, sequence: u64, now: u64) -> bool {
        sequence < self.head || self.uops.at(sequence).done <= now
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// The oldest instruction.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Renamed> {
        self.instructions.front()
    }

    /// The first micro-op of the oldest instruction.
    pub(crate) fn front_uop(&self) -> u64 {
        self.oldest
    }

    /// Entries taken of all buffers but the store queue.
    #[inline]
    pub(crate) fn entries(&self) -> Entries {
        self.entries
    }

    /// Entries taken of one of them.
    #[inline]
    pub(crate) fn count(&self, buffer: Buffer) -> u32 {
        self.entries.count(buffer)
    }

    /// An instruction in flight keeps back what comes after it.
    #[inline]
    pub(crate) fn is_serialized(&self) -> bool {
        self.is_serialized
    }

    /// True while the oldest micro-op is not retired because another core may take back what it loaded.
    pub(crate) fn is_held(&self, now: u64) -> bool {
        self.held_until > now
    }

    /// Room for so many micro-ops more.
    #[inline]
    pub(crate) fn has_room(&self, uops: usize) -> bool {
        (self.next - self.head) as usize + uops <= CAPACITY
    }

    /// Puts the next micro-op in flight. Returns its number.
    #[inline]
    pub(crate) fn begin(&mut self, uop: &InFlightUop) -> (u64, &mut InFlightUop) {
        let sequence = self.next;
        self.next += 1;
        (sequence, self.uops.begin(sequence, uop))
    }

    /// Lets a micro-op wait for these producers, as far as they are in flight, each with cycles that it adds.
    #[inline(always)]
    pub(crate) fn wait_for(&mut self, sequence: u64, producers: impl Iterator<Item = (u64, i16)>) {
        let head = self.head;
        self.uops.wait_for_all(sequence, producers.filter(|(producer, _)| *producer >= head));
    }

    /// Takes an instruction's entries, once its micro-ops are in flight.
    #[inline]
    pub(crate) fn push(&mut self, renamed: Renamed) {
        self.entries += renamed.entries;
        self.is_serialized |= renamed.is_serializing && renamed.instructions > 0;
        self.instructions.push_back(renamed);
    }

    /// Marks the micro-ops as final that are done, up to the first that is not, or may have been too early as another core
    /// contends for its line and takes no longer than `hold` for that. Returns whether there are any.
    #[inline]
    pub(crate) fn complete(
        &mut self,
        now: u64,
        hold: u64,
        is_contended: impl Fn(&InFlightUop) -> bool,
    ) -> bool {
        let before = self.head;
        while self.head < self.next {
            let uop = self.uops.at(self.head);
            if uop.done > now {
                break;
            }
            let until = uop.done + hold;
            if until > now && uop.is_snooped() && is_contended(uop) {
                self.held_until = until;
                break;
            }
            self.head += 1;
        }
        self.head != before
    }

    /// Retires the oldest instruction, if all its micro-ops are final, and its slots are no more than are `left` of the
    /// `whole` width of a cycle, of which one alone may need more.
    #[inline]
    pub(crate) fn retire(&mut self, left: u32, whole: u32, now: u64) -> Option<Retired> {
        let oldest = self.instructions.front()?;
        let slots = u32::from(oldest.queued.slots);
        if oldest.end > self.head || slots > left && left < whole {
            return None;
        }
        let oldest = self.instructions.pop_front()?;
        self.entries -= oldest.entries;
        if self.retired == 0 {
            self.first_retired = now;
        }
        self.last_retired = now;
        self.retired += u64::from(oldest.instructions);
        self.is_serialized &= !oldest.is_serializing;
        (self.oldest, self.is_reexecuting) = (oldest.end, false);
        Some(Retired { slots, stores: oldest.stores })
    }

    /// Instructions that were retired.
    #[inline]
    pub(crate) fn retired(&self) -> u64 {
        self.retired
    }

    /// The cycles in which something was first and last retired.
    pub(crate) fn retired_within(&self) -> (u64, u64) {
        (self.first_retired, self.last_retired)
    }

    /// So many instructions are done without having been here.
    pub(crate) fn skip(&mut self, instructions: u64) {
        self.retired += instructions;
    }

    /// Searches for a load that was done by cycle `at`, in which another core took a line that `is_there`.
    pub(crate) fn snoop(&mut self, at: u64, is_there: impl Fn(&InFlightUop) -> bool) {
        // The instruction that is executed again is not too early again: every thread gets on.
        let spared = self.instructions.front().filter(|_| self.is_reexecuting);
        let first = spared.map_or(self.oldest, |oldest| oldest.end);
        let early = (first..self.next).find(|&sequence| {
            let uop = self.uops.at(sequence);
            uop.is_snooped() && uop.done <= at && is_there(uop)
        });
        self.ordering_violation = self.ordering_violation.into_iter().chain(early).min();
    }

    /// The oldest instruction has a load that was too early.
    #[inline]
    pub(crate) fn must_clear(&self) -> bool {
        let oldest = self.instructions.front();
        oldest.is_some_and(|oldest| self.ordering_violation.is_some_and(|early| early < oldest.end))
    }

    /// Micro-ops that are not final.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = &InFlightUop> {
        (self.head..self.next).map(|sequence| self.uops.at(sequence))
    }

    /// Empties it. Returns the instructions that it had.
    pub(crate) fn clear(&mut self) -> VecDeque<Renamed> {
        (self.oldest, self.head) = (self.next, self.next);
        self.entries = Entries::default();
        (self.is_serialized, self.is_reexecuting) = (false, true);
        (self.ordering_violation, self.held_until) = (None, 0);
        std::mem::take(&mut self.instructions)
    }

    /// Drops the instructions of a wrong path, whose micro-ops begin with `first`; calls `squashed` with each micro-op.
    ///
    /// Numbers of micro-ops are not used again: older ones may still wake those that are gone, which are done.
    pub(crate) fn squash(&mut self, first: u64, mut squashed: impl FnMut(&InFlightUop)) {
        while let Some(&renamed) = self.instructions.back().filter(|it| it.queued.is_wrong) {
            self.instructions.pop_back();
            self.entries -= renamed.entries;
        }
        for sequence in first..self.next {
            let uop = self.uops.at_mut(sequence);
            squashed(uop);
            uop.done = 0;
        }
    }

    /// The next cycles in which the oldest micro-op is done, is no longer held, and waits because of a sibling.
    #[inline]
    pub(crate) fn next_events(&self) -> [Option<u64>; 3] {
        let oldest = self.oldest_uop().filter(|oldest| oldest.done != NEVER);
        let done = oldest.map(|oldest| oldest.done);
        // From then on a sibling is to blame.
        let evicted = oldest.map(|oldest| oldest.done.saturating_sub(oldest.evicted.cycles.into()));
        [done, Some(self.held_until), evicted]
    }
}
