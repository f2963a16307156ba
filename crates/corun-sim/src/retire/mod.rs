//! The reorder buffer: instructions and their micro-ops from renaming until they are final, in program order.

use std::collections::VecDeque;

use crate::frontend::Queued;
use crate::memory::{Origin, SiblingEviction};
use crate::uops::{
    Buffer, CAPACITY, Entries, Handle, InFlightUop, InFlightUops, Kind, NEVER, PortSet,
};

/// The reorder buffer of one thread, with the register and load queue entries of its instructions.
#[derive(Debug)]
pub(crate) struct ReorderBuffer {
    uops: InFlightUops,
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

/// Dispatch of a micro-op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatched {
    /// Place in the order of renaming over all threads.
    pub(crate) age: u64,
    /// The first cycle in which it can be issued.
    pub(crate) ready: u64,
    /// A number for its instruction.
    pub(crate) instruction: u32,
    /// The port that it is given.
    pub(crate) port: u8,
    /// It lies on a wrong path: what it does to memory is not done.
    pub(crate) is_wrong: bool,
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

    /// Block and place of the instruction of the oldest micro-op that is not final, or of the oldest one if all are.
    pub(crate) fn instruction_at_head(&self) -> Option<(u32, u32)> {
        let at_head = self.instructions.iter().find(|it| it.end > self.head);
        let Queued { block, instruction, .. } = at_head.or(self.instructions.front())?.queued;
        Some((block, instruction))
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

    /// A micro-op in flight.
    #[inline]
    pub(crate) fn uop(&self, handle: Handle) -> &InFlightUop {
        self.uops.get(handle)
    }

    /// A micro-op by its number.
    #[inline]
    pub(crate) fn uop_at(&self, sequence: u64) -> &InFlightUop {
        self.uops.at(sequence)
    }

    /// Puts the next micro-op in flight. Returns its number.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self, uop: &InFlightUop, dispatched: Dispatched) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let Dispatched { age, ready, instruction, port, is_wrong } = dispatched;
        let uop = self.uops.begin(sequence, uop);
        (uop.age, uop.ready, uop.instruction, uop.port) = (age, ready, instruction, port);
        if is_wrong {
            uop.kind = Kind::Compute;
        }
        sequence
    }

    /// Lets a micro-op wait for these producers, as far as they are in flight, each with cycles that it adds.
    #[inline(always)]
    pub(crate) fn wait_for(&mut self, sequence: u64, producers: impl Iterator<Item = (u64, i16)>) {
        let head = self.head;
        self.uops.wait_for_all(sequence, producers.filter(|(producer, _)| *producer >= head));
    }

    /// Lets a micro-op wait for one event more, whose cycle is not known: a store that reaches the cache.
    pub(crate) fn await_event(&mut self, sequence: u64) {
        self.uops.at_mut(sequence).pending += 1;
    }

    /// An event is over from cycle `ready` on. Returns from when on the micro-op has its operands, if it waits for none more.
    pub(crate) fn release(&mut self, handle: Handle, ready: u64) -> Option<u64> {
        let uop = self.uops.get_mut(handle);
        uop.ready = uop.ready.max(ready);
        uop.pending -= 1;
        (uop.pending == 0).then_some(uop.ready)
    }

    /// Lets a micro-op have its operands no earlier than in this cycle.
    pub(crate) fn hold_back(&mut self, sequence: u64, until: u64) {
        let uop = self.uops.at_mut(sequence);
        uop.ready = uop.ready.max(until);
    }

    /// The bytes that a micro-op loads or is going to store, by their linear address.
    #[inline]
    pub(crate) fn set_address(&mut self, sequence: u64, linear: u64, span: u64) {
        self.uops.at_mut(sequence).touch(linear, span);
    }

    /// A load that no other core can come between: it is locked, or a prefetch.
    pub(crate) fn set_firm(&mut self, sequence: u64) {
        self.uops.at_mut(sequence).is_firm = true;
    }

    /// A load on a wrong path asks memory all the same.
    pub(crate) fn load_wrongly(&mut self, sequence: u64, kind: Kind) {
        let uop = self.uops.at_mut(sequence);
        (uop.kind, uop.is_firm) = (kind, true);
    }

    /// A load that gives an address, perhaps, and has its own from another such load: that saves cycles.
    pub(crate) fn chase_pointer(&mut self, sequence: u64, is_pointer: bool, saved: u16) {
        let uop = self.uops.at_mut(sequence);
        uop.is_pointer = is_pointer;
        uop.latency -= saved.min(uop.latency);
    }

    /// A gather keeps its port for a cycle a lane.
    pub(crate) fn gather_lanes(&mut self, sequence: u64, lanes: u16) {
        self.uops.at_mut(sequence).busy = lanes;
    }

    /// The address of a micro-op costs it cycles: a split line, an alias, elements of a string.
    #[inline]
    pub(crate) fn add_latency(&mut self, sequence: u64, cycles: u16) {
        self.uops.at_mut(sequence).extra += cycles;
    }

    /// The latency of a load that a store hands its data to.
    pub(crate) fn set_latency(&mut self, sequence: u64, cycles: u16) {
        self.uops.at_mut(sequence).latency = cycles;
    }

    /// A store that has not reached the cache gives a load its data.
    #[inline]
    pub(crate) fn set_forwarded(&mut self, sequence: u64) {
        self.uops.at_mut(sequence).is_forwarded = true;
    }

    /// The micro-op whose data a load is going to wait for once it is issued, with the cycles that it adds; 0 for none.
    #[inline]
    pub(crate) fn forward_once_issued(&mut self, load: u64, data: u64, extra: i16) {
        self.uops.forward(load, data, extra);
    }

    /// Lets a load that is issued wait for its data, if they are not there yet. Returns whether it does.
    pub(crate) fn wait_for_data(&mut self, load: Handle, now: u64) -> bool {
        self.uops.wait_for_data(load, now)
    }

    /// Notes the ports of a micro-op that is given one of them when it has its operands.
    #[inline]
    pub(crate) fn allow(&mut self, sequence: u64, ports: PortSet) {
        self.uops.allow(sequence, ports);
    }

    /// The ports that were noted.
    #[inline]
    pub(crate) fn allowed(&self, handle: Handle) -> PortSet {
        self.uops.allowed(handle)
    }

    /// A micro-op that has its operands waits for this port; `collides` if it is not selected at once, and wakes what waits
    /// for it all the same.
    #[inline]
    pub(crate) fn bind(&mut self, handle: Handle, port: u8, collides: bool) {
        let uop = self.uops.get_mut(handle);
        uop.port = port;
        uop.collides |= collides;
    }

    /// A micro-op is issued, and has waited for its port.
    #[inline]
    pub(crate) fn issue(&mut self, handle: Handle, now: u64) -> &InFlightUop {
        let uop = self.uops.get_mut(handle);
        uop.waited = now.saturating_sub(uop.ready).min(u16::MAX.into()) as u16;
        uop
    }

    /// A load found no MSHR: it waits in the load queue, without a port. Returns its age.
    pub(crate) fn block(&mut self, handle: Handle) -> u64 {
        let uop = self.uops.get_mut(handle);
        uop.wait_for_buffer();
        uop.age
    }

    /// Memory gives a line of a micro-op from this level; `evicted` are cycles that a sibling costs it, if it is the line that
    /// comes last.
    #[inline]
    pub(crate) fn note_line(
        &mut self,
        handle: Handle,
        origin: Origin,
        evicted: Option<SiblingEviction>,
    ) {
        let uop = self.uops.get_mut(handle);
        uop.origin = uop.origin.max(origin);
        if let Some(evicted) = evicted {
            uop.evicted = evicted;
        }
    }

    /// Says when a micro-op is done; calls `ready` with the number (modulo the ring) of each that then knows when it can
    /// start.
    #[inline]
    pub(crate) fn finish(
        &mut self,
        handle: Handle,
        done: u64,
        ready: impl FnMut(u32, &InFlightUop),
    ) {
        self.uops.finish(handle, done, ready);
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
