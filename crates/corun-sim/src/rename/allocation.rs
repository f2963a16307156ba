//! Places for what is renamed: entries of buffers and schedulers beside those that siblings have, and the
//! port of each micro-op.

use std::ops::Add;

use crate::core::cycle_stack::{Component, Shared};
use crate::core::entries::{BUFFERS, Buffer, Entries};
use crate::core::in_flight::CAPACITY;
use crate::core::parameters::PortMap;
use crate::core::thread::{MAX_THREADS, Thread};
use crate::core::{Core, InstructionSource};
use crate::execute::ports::MAX_PORTS;
use crate::uops::{DecodedInstruction, PortSet, Uop};
use corun_model::PortAssignment;

/// Why an instruction cannot be allocated: what its slots are lost to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stall {
    /// This: a sibling's entries, mostly.
    LostTo(Component),
    /// This full buffer, unless the oldest micro-op is to blame.
    Full(Component),
}

/// Ports given to an instruction's micro-ops, and what of each scheduler that takes.
#[derive(Debug)]
pub(crate) struct Allocator {
    pub(crate) ports: [u8; MAX_UOPS],
    /// How many have one.
    given: usize,
    taken: [u16; MAX_PORTS],
    /// Whose turn it is of a pair of load ports, of each set of ports.
    turns: [bool; 1 + MAX_THREADS],
    /// The turns before this instruction.
    turns_before: [bool; 1 + MAX_THREADS],
    /// Whether ports take turns at all.
    takes_turns: bool,
    /// Whether it found no place because siblings have what the thread may have.
    pub(crate) is_stalled_by_sibling: bool,
}

impl Allocator {
    pub(crate) fn new(assignment: PortAssignment) -> Self {
        Self {
            ports: [0; MAX_UOPS],
            given: 0,
            taken: [0; MAX_PORTS],
            turns: [false; 1 + MAX_THREADS],
            turns_before: [false; 1 + MAX_THREADS],
            takes_turns: assignment != PortAssignment::Fewest,
            is_stalled_by_sibling: false,
        }
    }

    /// The next micro-op gets this port.
    #[inline]
    fn give(&mut self, port: usize) {
        self.ports[self.given % MAX_UOPS] = port as u8;
        self.given += 1;
    }

    /// The instruction that was allocated is renamed, and has had its turns.
    #[inline]
    pub(crate) fn keep_turns(&mut self) {
        if self.takes_turns {
            self.turns_before = self.turns;
        }
    }
}

/// More than any instruction has.
const MAX_UOPS: usize = 1 << 8;

/// Cycles without an entry from which on a thread is let in first.
const STARVED: u64 = 100;

impl<F: InstructionSource> Core<F> {
    /// A thread that siblings have left no entry for so long that it must have the next: no buffer lets
    /// one thread starve another.
    pub(crate) fn starving(&self) -> Option<usize> {
        let is_long = |thread: &Thread<F>| thread.starved.is_some_and(|at| at + STARVED < self.now);
        if self.threads.len() == 1 { None } else { self.threads.iter().position(is_long) }
    }

    /// The sum over all threads.
    pub(crate) fn all(&self, used: impl Fn(&Thread<F>) -> u32) -> u32 {
        self.threads.iter().map(used).sum()
    }

    /// Finds a place for everything that the instruction needs, or says what is full: what the slots are
    /// lost to, or else what they are lost to unless the oldest micro-op is to blame.
    pub(crate) fn allocate(
        &mut self,
        index: usize,
        lowered: &DecodedInstruction,
        place: u32,
    ) -> Result<(), Stall> {
        self.allocator.is_stalled_by_sibling = false;
        let thread = &self.threads[index];
        let in_flight = (thread.next - thread.head) as usize + lowered.uops.len();
        if in_flight > CAPACITY && !(thread.rob.is_empty() && thread.stores.len() == 0) {
            return Err(Stall::Full(Component::ReorderBuffer));
        }
        if !self.fits(index, lowered) {
            self.check_all(index, lowered)?;
        }
        self.allocator.given = 0;
        self.allocator.taken = [0; MAX_PORTS];
        if self.allocator.takes_turns {
            self.allocator.turns = self.allocator.turns_before;
        }
        for uop in &lowered.uops {
            if let Err(full) = self.take_port(index, uop, place) {
                self.release_allocation(index, lowered);
                return Err(full);
            }
        }
        Ok(())
    }

    /// Whether reorder buffer, registers and queues have room for an instruction, as they mostly do.
    #[inline]
    fn fits(&self, index: usize, lowered: &DecodedInstruction) -> bool {
        let (limits, wanted) = (&self.parameters.limits, lowered.digest.wanted);
        let own = self.threads[index].taken();
        wanted.fit(own, limits.own) && wanted.fit(self.taken(own), limits.all)
    }

    /// Entries taken by all threads, of which one has `own`.
    #[inline]
    fn taken(&self, own: Entries) -> Entries {
        match &self.threads[..] {
            [_] => own,
            all => all.iter().map(Thread::taken).fold(Entries::default(), Entries::add),
        }
    }

    /// The same one by one, to say which of them is full.
    #[cold]
    fn check_all(&mut self, index: usize, lowered: &DecodedInstruction) -> Result<(), Stall> {
        let wanted = lowered.digest.wanted;
        let mut all = BUFFERS.into_iter().filter(|&buffer| wanted.count(buffer) > 0);
        all.try_for_each(|buffer| self.check(index, buffer, wanted.count(buffer)))
    }

    /// Whether a buffer has no room for `wanted` more entries of a thread, and if so, what the thread's
    /// slots are lost to.
    fn check(&mut self, index: usize, buffer: Buffer, wanted: u32) -> Result<(), Stall> {
        let limit = self.parameters.limits.of(buffer);
        let taken = self.threads[index].taken();
        let (own, all) = (taken.count(buffer), self.taken(taken).count(buffer));
        // What needs more than there is goes when nothing else is there.
        let never_fits = wanted > limit.own.min(limit.all);
        if limit.has_room(own, all, wanted) || (never_fits && own == 0 && all == own) {
            return Ok(());
        }
        let is_taken = self.threads.len() > 1 && limit.is_taken(own, wanted);
        // What never fits waits until its siblings hold nothing, too.
        self.allocator.is_stalled_by_sibling =
            own + wanted <= limit.own || (never_fits && own == 0);
        let (full, shared) = full(buffer);
        Err(match is_taken {
            true => Stall::LostTo(self.lost(index, (full, shared), own, limit.alone - own)),
            false => Stall::Full(full),
        })
    }

    /// Gives the ports of an instruction back that is not renamed after all.
    pub(crate) fn release_allocation(&mut self, index: usize, lowered: &DecodedInstruction) {
        for (&port, uop) in self.allocator.ports[..self.allocator.given].iter().zip(&lowered.uops) {
            let port = usize::from(port);
            if uop.ports != 0 {
                let set = self.parameters.set_of(index, port);
                self.ports[set].assigned[port] -= 1;
            }
        }
    }

    /// Gives the instruction's next micro-op one of its ports, if a scheduler has room. The instruction
    /// begins at `place` of what is renamed in this cycle.
    #[inline]
    fn take_port(&mut self, index: usize, uop: &Uop, place: u32) -> Result<(), Stall> {
        let ports = uop.ports;
        if ports == 0 {
            self.allocator.give(0);
            return Ok(());
        }
        let port = match self.parameters.port_map.counts {
            false => self.best_port(index, ports),
            true => self.bound_port(index, ports, place + u32::from(uop.slot)),
        };
        let Some(port) = port else {
            return Err(self.full_scheduler(index, ports.trailing_zeros() as usize));
        };
        let scheduler = usize::from(self.parameters.port_map.of_port[port].scheduler);
        self.allocator.taken[scheduler % MAX_PORTS] += 1;
        let set = self.parameters.set_of(index, port);
        self.ports[set].assigned[port] += 1;
        self.allocator.give(port);
        Ok(())
    }

    /// What slots are lost to when the scheduler of a port has no room.
    #[cold]
    fn full_scheduler(&mut self, index: usize, port: usize) -> Stall {
        let scheduler = usize::from(self.parameters.port_map.of_port[port].scheduler);
        let limit = self.parameters.limits.schedulers[scheduler];
        let taken = u32::from(self.allocator.taken[scheduler]);
        let own = self.threads[index].scheduler_used[scheduler] + taken;
        // An instruction that needs more than its part waits until its siblings hold nothing.
        self.allocator.is_stalled_by_sibling = own < limit.own || own == taken;
        if self.threads.len() > 1 && limit.is_taken(own, 1) {
            let what = (Component::Scheduler, Shared::Scheduler);
            return Stall::LostTo(self.lost(index, what, own, limit.alone - own));
        }
        Stall::Full(Component::Scheduler)
    }

    /// Whether a scheduler has no room for one more micro-op of a thread. An empty one takes an
    /// instruction that needs more than it has.
    #[inline]
    fn is_full(&self, index: usize, scheduler: usize) -> bool {
        let scheduler = scheduler % MAX_PORTS;
        let taken = u32::from(self.allocator.taken[scheduler]);
        let limit = &self.parameters.limits.schedulers[scheduler];
        let own = self.threads[index].scheduler_used[scheduler];
        let all = self.scheduler_used[scheduler];
        ((own + taken >= limit.own) & (own > 0)) | ((all + taken >= limit.all) & (all > 0))
    }

    /// The port that is given by the place among what is renamed in a cycle, if its scheduler has room.
    fn bound_port(&mut self, index: usize, ports: PortSet, place: u32) -> Option<usize> {
        let set = self.parameters.set_of(index, ports.trailing_zeros() as usize);
        let place = place % self.parameters.widths.dispatch;
        let port = self.ports[set].counts.choose(ports, place, &mut self.allocator.turns[set]);
        let scheduler = usize::from(self.parameters.port_map.of_port[port].scheduler);
        (self.parameters.widths.whole_groups || !self.is_full(index, scheduler)).then_some(port)
    }

    /// Of these ports the one that fewest micro-ops were given to, in a scheduler with room.
    #[inline]
    fn best_port(&self, index: usize, mut ports: PortSet) -> Option<usize> {
        let PortMap { own, of_port, .. } = &self.parameters.port_map;
        while ports != 0 {
            let mut best = self.ports[0].least_loaded(ports & !own, self.now);
            if ports & own != 0 {
                best = best.min(self.ports[1 + index].least_loaded(ports & own, self.now));
            }
            let best = best.port();
            if !self.is_full(index, usize::from(of_port[best].scheduler)) {
                return Some(best);
            }
            ports &= !(1 << best);
        }
        None
    }
}

/// What slots are lost to where a buffer is full: by the thread itself, or by its siblings.
fn full(buffer: Buffer) -> (Component, Shared) {
    match buffer {
        Buffer::Rob => (Component::ReorderBuffer, Shared::ReorderBuffer),
        Buffer::IntegerRegisters | Buffer::VectorRegisters | Buffer::MaskRegisters => {
            (Component::Registers, Shared::Registers)
        }
        Buffer::Loads => (Component::LoadQueue, Shared::LoadQueue),
        Buffer::Stores => (Component::StoreQueue, Shared::StoreQueue),
    }
}
