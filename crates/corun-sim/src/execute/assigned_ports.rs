//! The ports of the instruction that is being renamed, before it has its entries.

use crate::sharing::MAX_THREADS;
use crate::uops::MAX_PORTS;
use corun_model::PortAssignment;

/// Ports given to an instruction's micro-ops, and what of each scheduler that takes.
#[derive(Debug)]
pub(super) struct AssignedPorts {
    ports: [u8; MAX_UOPS],
    /// Number of micro-ops that have a port.
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

impl AssignedPorts {
    /// None yet.
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

    /// Begins with the next instruction.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.given = 0;
        self.taken = [0; MAX_PORTS];
        if self.by_place {
            self.turns = self.turns_before;
        }
    }

    /// True if ports are given by the place among what is renamed in a cycle.
    #[inline]
    pub(super) fn are_by_place(&self) -> bool {
        self.by_place
    }

    /// The next micro-op gets this port.
    #[inline]
    pub(super) fn give(&mut self, port: usize) {
        self.ports[self.given % MAX_UOPS] = port as u8;
        self.given += 1;
    }

    /// The next micro-op gets this port, and an entry of its scheduler.
    #[inline]
    pub(super) fn give_with_entry(&mut self, port: usize, scheduler: usize) {
        self.taken[scheduler] += 1;
        self.give(port);
    }

    /// Entries of a scheduler that the instruction takes.
    #[inline]
    pub(super) fn taken(&self, scheduler: usize) -> u32 {
        self.taken[scheduler].into()
    }

    /// The ports of the micro-ops that have one.
    #[inline]
    pub(super) fn given(&self) -> &[u8] {
        &self.ports[..self.given]
    }

    /// The port of a micro-op, by its number in the instruction.
    #[inline]
    pub(super) fn port(&self, own: u8) -> usize {
        usize::from(self.ports[usize::from(own)]) % MAX_PORTS
    }

    /// The turn of a set of ports.
    #[inline]
    pub(super) fn turn(&mut self, set: usize) -> &mut bool {
        &mut self.turns[set]
    }

    /// The instruction is renamed, and has had its turns.
    #[inline]
    pub(super) fn keep_turns(&mut self) {
        if self.by_place {
            self.turns_before = self.turns;
        }
    }
}
