//! Places for an instruction that is renamed: entries of buffers beside those that siblings have, and ports.

use std::ops::Add;

use crate::core::cycle_stack::{Component, Shared};
use crate::core::thread::Thread;
use crate::core::{Core, InstructionSource};
use crate::execute::FullScheduler;
use crate::uops::{BUFFERS, Buffer, DecodedInstruction, Entries};

/// Why an instruction cannot be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stall {
    pub(super) lost_to: LostTo,
    /// Siblings have what the thread may have.
    pub(super) is_by_sibling: bool,
}

/// Cause of the lost slots of such an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LostTo {
    /// This: a sibling's entries, mostly.
    This(Component),
    /// This full buffer, unless the oldest micro-op is to blame.
    Full(Component),
}

/// Starvation limit: cycles without an entry after which a thread has priority.
const STARVATION_LIMIT: u64 = 100;

impl<F: InstructionSource> Core<F> {
    /// A thread that siblings have left no entry for so long that it must have the next: no buffer lets
    /// one thread starve another.
    pub(super) fn starved_thread(&self) -> Option<usize> {
        let is_long = |thread: &Thread<F>| {
            thread.starved_since.is_some_and(|at| at + STARVATION_LIMIT < self.now)
        };
        if self.threads.len() == 1 { None } else { self.threads.iter().position(is_long) }
    }

    /// Finds a place for everything that the instruction needs, or says what its slots are lost to. It begins at `place` of
    /// what is renamed in this cycle.
    pub(super) fn allocate(
        &mut self,
        index: usize,
        lowered: &DecodedInstruction,
        place: u32,
    ) -> Result<(), Stall> {
        let thread = &self.threads[index];
        let is_empty = || thread.rob.is_empty() && thread.stores.is_empty();
        if !thread.rob.has_room(lowered.uops.len()) && !is_empty() {
            let lost_to = LostTo::Full(Component::ReorderBuffer);
            return Err(Stall { lost_to, is_by_sibling: false });
        }
        if !self.fits(index, lowered) {
            self.check_all(index, lowered)?;
        }
        let Self { parameters, schedulers, now, .. } = self;
        schedulers
            .allocate(index, lowered, place, parameters, *now)
            .map_err(|full| self.without_entry(index, full))
    }

    /// Why an instruction is not renamed for which a scheduler has no room.
    #[cold]
    fn without_entry(&mut self, index: usize, full: FullScheduler) -> Stall {
        let FullScheduler { limit, own, given } = full;
        // An instruction that needs more than its part waits until its siblings hold nothing.
        let is_by_sibling = own < limit.own || own == given;
        let is_taken = self.threads.len() > 1 && limit.is_taken(own, 1);
        let what = (Component::Scheduler, Shared::Scheduler);
        let lost_to = match is_taken {
            true => LostTo::This(self.lost(index, what, own, limit.alone - own)),
            false => LostTo::Full(Component::Scheduler),
        };
        Stall { lost_to, is_by_sibling }
    }

    /// True if reorder buffer, registers and queues have room for an instruction, as they mostly do.
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

    /// Checks of the buffers one by one, to report which of them is full.
    #[cold]
    fn check_all(&mut self, index: usize, lowered: &DecodedInstruction) -> Result<(), Stall> {
        let wanted = lowered.digest.wanted;
        let mut all = BUFFERS.into_iter().filter(|&buffer| wanted.count(buffer) > 0);
        all.try_for_each(|buffer| self.check(index, buffer, wanted.count(buffer)))
    }

    /// A stall if a buffer has no room for `wanted` more entries of a thread.
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
        let is_by_sibling = own + wanted <= limit.own || (never_fits && own == 0);
        let (full, shared) = full(buffer);
        let lost_to = match is_taken {
            true => LostTo::This(self.lost(index, (full, shared), own, limit.alone - own)),
            false => LostTo::Full(full),
        };
        Err(Stall { lost_to, is_by_sibling })
    }
}

/// Component that slots are lost to where a buffer is full: by the thread itself, or by its siblings.
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
