//! Ports and scheduler entries for an instruction that is renamed.

use crate::execute::schedulers::Schedulers;
use crate::parameters::{Limit, Parameters};
use crate::uops::{DecodedInstruction, PortSet};

/// A scheduler that has no room for an instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FullScheduler {
    pub(crate) limit: Limit,
    /// Entries that the thread has, those that the instruction has been given among them.
    pub(crate) own: u32,
    /// The latter.
    pub(crate) given: u32,
}

impl Schedulers {
    /// A cycle of the renamer begins.
    pub(crate) fn begin_rename(&mut self, now: u64) {
        self.sets.iter_mut().for_each(|ports| ports.begin_rename(now));
    }

    /// Gives each micro-op of a thread's instruction a port, in a scheduler with room. The instruction begins at `place` of
    /// what is renamed in this cycle.
    pub(crate) fn allocate(
        &mut self,
        thread: usize,
        lowered: &DecodedInstruction,
        place: u32,
        parameters: &Parameters,
        now: u64,
    ) -> Result<(), FullScheduler> {
        self.assigned.begin();
        for uop in &lowered.uops {
            let ports = uop.ports;
            if ports == 0 {
                self.assigned.give(0);
                continue;
            }
            let port = match self.assigned.are_by_place() {
                false => self.best_port(thread, ports, parameters, now),
                true => self.port_by_place(thread, ports, place + u32::from(uop.slot), parameters),
            };
            let Some(port) = port else {
                self.release(thread, lowered);
                let scheduler = self.port_map.scheduler_of(ports.trailing_zeros() as usize);
                let given = self.assigned.taken(scheduler);
                let own = self.used_by[thread][scheduler] + given;
                let limit = parameters.limits.schedulers[scheduler];
                return Err(FullScheduler { limit, own, given });
            };
            self.sets[self.port_map.set_of(thread, port)].assign(port);
            self.assigned.give_with_entry(port, self.port_map.scheduler_of(port));
        }
        Ok(())
    }

    /// Gives the ports of an instruction back that is not renamed after all.
    pub(crate) fn release(&mut self, thread: usize, lowered: &DecodedInstruction) {
        for (&port, _) in
            self.assigned.given().iter().zip(&lowered.uops).filter(|(_, uop)| uop.ports != 0)
        {
            let port = usize::from(port);
            self.sets[self.port_map.set_of(thread, port)].unassign(port);
        }
    }

    /// The instruction that was allocated is renamed, and has had its turns.
    #[inline]
    pub(crate) fn keep_turns(&mut self) {
        self.assigned.keep_turns();
    }

    /// The port of a micro-op of the instruction that was allocated, by its number there.
    #[inline]
    pub(crate) fn allocated(&self, own: u8) -> usize {
        self.assigned.port(own)
    }

    /// True if a scheduler has no room for one more micro-op of a thread. An empty one takes an
    /// instruction that needs more than it has.
    #[inline]
    fn is_full(&self, thread: usize, scheduler: usize, parameters: &Parameters) -> bool {
        let taken = self.assigned.taken(scheduler);
        let limit = &parameters.limits.schedulers[scheduler];
        let (own, all) = (self.used_by[thread][scheduler], self.used[scheduler]);
        ((own + taken >= limit.own) & (own > 0)) | ((all + taken >= limit.all) & (all > 0))
    }

    /// The port that is given by the place among what is renamed in a cycle, if its scheduler has room.
    fn port_by_place(
        &mut self,
        thread: usize,
        ports: PortSet,
        place: u32,
        parameters: &Parameters,
    ) -> Option<usize> {
        let set = self.port_map.set_of(thread, ports.trailing_zeros() as usize);
        let place = place % parameters.widths.dispatch;
        let port = self.sets[set].by_place(ports, place, self.assigned.turn(set));
        let scheduler = self.port_map.scheduler_of(port);
        (parameters.widths.whole_groups || !self.is_full(thread, scheduler, parameters))
            .then_some(port)
    }

    /// Of these ports the one that fewest micro-ops were given to, in a scheduler with room.
    #[inline]
    fn best_port(
        &self,
        thread: usize,
        mut ports: PortSet,
        parameters: &Parameters,
        now: u64,
    ) -> Option<usize> {
        let own = self.port_map.own;
        while ports != 0 {
            let mut best = self.sets[0].least_loaded(ports & !own, now);
            if ports & own != 0 {
                best = best.min(self.sets[1 + thread].least_loaded(ports & own, now));
            }
            let best = best.port();
            if !self.is_full(thread, self.port_map.scheduler_of(best), parameters) {
                return Some(best);
            }
            ports &= !(1 << best);
        }
        None
    }
}
