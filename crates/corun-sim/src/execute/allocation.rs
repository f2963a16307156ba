//! Ports and scheduler entries for an instruction that is renamed.

use crate::execute::schedulers::Schedulers;
use crate::parameters::{Limit, Parameters};
use crate::sharing::MAX_THREADS;
use crate::uops::{DecodedInstruction, MAX_PORTS, PortSet};
use corun_model::PortAssignment;

/// Ports given to an instruction's micro-ops, and what of each scheduler that takes.
#[derive(Debug)]
pub(super) struct Allocation {
    ports: [u8; MAX_UOPS],
    /// How many have one.
    given: usize,
    taken: [u16; MAX_PORTS],
    /// Whose turn it is of a pair of load ports, of each set of ports.
    turns: [bool; 1 + MAX_THREADS],
    /// The turns before this instruction.
    turns_before: [bool; 1 + MAX_THREADS],
    /// Ports are given by counts that the renamer keeps, and take turns.
    by_place: bool,
}

/// More than any instruction has.
const MAX_UOPS: usize = 1 << 8;

/// A scheduler that has no room for an instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FullScheduler {
    pub(crate) limit: Limit,
    /// Entries that the thread has, those that the instruction has been given among them.
    pub(crate) own: u32,
    /// The latter.
    pub(crate) given: u32,
}

impl Allocation {
    pub(super) fn new(assignment: PortAssignment) -> Self {
        Self {
            ports: [0; MAX_UOPS],
            given: 0,
            taken: [0; MAX_PORTS],
            turns: [false; 1 + MAX_THREADS],
            turns_before: [false; 1 + MAX_THREADS],
            by_place: assignment != PortAssignment::Fewest,
        }
    }

    /// The next micro-op gets this port.
    #[inline]
    fn give(&mut self, port: usize) {
        self.ports[self.given % MAX_UOPS] = port as u8;
        self.given += 1;
    }
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
        self.allocation.given = 0;
        self.allocation.taken = [0; MAX_PORTS];
        if self.allocation.by_place {
            self.allocation.turns = self.allocation.turns_before;
        }
        for uop in &lowered.uops {
            let ports = uop.ports;
            if ports == 0 {
                self.allocation.give(0);
                continue;
            }
            let port = match self.allocation.by_place {
                false => self.best_port(thread, ports, parameters, now),
                true => self.port_by_place(thread, ports, place + u32::from(uop.slot), parameters),
            };
            let Some(port) = port else {
                self.release(thread, lowered);
                let scheduler = self.port_map.scheduler_of(ports.trailing_zeros() as usize);
                let given = u32::from(self.allocation.taken[scheduler]);
                let own = self.used_by[thread][scheduler] + given;
                let limit = parameters.limits.schedulers[scheduler];
                return Err(FullScheduler { limit, own, given });
            };
            self.allocation.taken[self.port_map.scheduler_of(port)] += 1;
            self.sets[self.port_map.set_of(thread, port)].assign(port);
            self.allocation.give(port);
        }
        Ok(())
    }

    /// Gives the ports of an instruction back that is not renamed after all.
    pub(crate) fn release(&mut self, thread: usize, lowered: &DecodedInstruction) {
        let given = &self.allocation.ports[..self.allocation.given];
        for (&port, _) in given.iter().zip(&lowered.uops).filter(|(_, uop)| uop.ports != 0) {
            let port = usize::from(port);
            self.sets[self.port_map.set_of(thread, port)].unassign(port);
        }
    }

    /// The instruction that was allocated is renamed, and has had its turns.
    #[inline]
    pub(crate) fn keep_turns(&mut self) {
        if self.allocation.by_place {
            self.allocation.turns_before = self.allocation.turns;
        }
    }

    /// The port of a micro-op of the instruction that was allocated, by its number there.
    #[inline]
    pub(crate) fn allocated(&self, own: u8) -> usize {
        usize::from(self.allocation.ports[usize::from(own)]) % MAX_PORTS
    }

    /// Whether a scheduler has no room for one more micro-op of a thread. An empty one takes an
    /// instruction that needs more than it has.
    #[inline]
    fn is_full(&self, thread: usize, scheduler: usize, parameters: &Parameters) -> bool {
        let taken = u32::from(self.allocation.taken[scheduler]);
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
        let port = self.sets[set].by_place(ports, place, &mut self.allocation.turns[set]);
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
