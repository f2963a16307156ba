//! Beginning again where another core wrote what was loaded too early (memory ordering).
//!
//! x86 loads seem to happen in program order. A core loads ahead all the same, remembers the lines, and when
//! one is taken from it before the load is retired, executes everything again from that load on.

use crate::core::entries::{Buffer, Entries};
use crate::core::in_flight::{InFlightUop, NEVER};
use crate::core::thread::{Queued, Thread};
use crate::core::{Core, InstructionSource};
use crate::lsq::operands::lines;
use crate::memory::Memory;

impl<F: InstructionSource> Core<F> {
    /// Searches for loads of lines that other cores have taken by now.
    pub(crate) fn check_snoops(&mut self, memory: &mut Memory) {
        let (now, shift) = (self.now, self.parameters.load_store.line_shift);
        self.next_snoop = None;
        let Some(taken) = memory.taken(self.number).filter(|taken| !taken.is_empty()) else {
            return;
        };
        for (line, at) in taken.extract_if(.., |(_, at)| *at <= now) {
            for thread in &mut self.threads {
                let is_there = |in_flight: &InFlightUop| {
                    let mut all = lines(in_flight.address, in_flight.span.into());
                    all.any(|at| thread.pages.physical(at) >> shift == line)
                };
                // What it began again with is not too early again: every thread gets on.
                let spared = thread.rob.front().filter(|_| thread.is_reexecuting);
                let first = spared.map_or(thread.oldest, |oldest| oldest.end);
                let early = (first..thread.next).find(|&sequence| {
                    let in_flight = thread.in_flight_uops.at(sequence);
                    in_flight.is_snooped() && in_flight.done <= at && is_there(in_flight)
                });
                thread.ordering_violation =
                    thread.ordering_violation.into_iter().chain(early).min();
            }
        }
        self.next_snoop = taken.iter().map(|(_, at)| *at).min();
    }

    /// Everything that a thread has not retired comes again.
    pub(crate) fn machine_clear(&mut self, index: usize) {
        self.squash(index);
        let thread = &mut self.threads[index];
        self.wheel.forget(index);
        self.ports.iter_mut().for_each(|ports| ports.keep(|handle| handle.thread() != index));
        for sequence in thread.head..thread.next {
            let in_flight = thread.in_flight_uops.at(sequence);
            if in_flight.done == NEVER && in_flight.has_port {
                let port = usize::from(in_flight.port);
                let scheduler = usize::from(self.parameters.port_map.of_port[port].scheduler);
                self.scheduler_used[scheduler] -= 1;
                thread.scheduler_used[scheduler] -= 1;
                let ports = &mut self.ports[self.parameters.set_of(index, port)];
                ports.assigned[port] -= 1;
                ports.counts.take_back(in_flight.port);
            }
        }
        let code = &self.code;
        // What is renamed in part has taken its first slots only.
        thread.stack.redo(thread.entries.count(Buffer::Rob).saturating_sub(thread.debt));
        for renamed in thread.rob.drain(..).rev().filter(|renamed| renamed.instructions > 0) {
            let Queued { block, instruction, .. } = renamed.queued;
            let slots = code[block as usize].instructions[instruction as usize].slots;
            let is_mispredicted =
                renamed.queued.is_mispredicted && thread.fetcher.await_again(renamed.end - 1);
            let queued = Queued { slots, is_mispredicted, ..renamed.queued };
            thread.queue_used += u32::from(slots);
            thread.queue.push_front(queued);
        }
        thread.forget();
        thread.cleared = self.now + self.parameters.penalties.machine_clear;
        self.is_active = true;
    }
}

impl<F> Thread<F> {
    /// Nothing is in flight.
    fn forget(&mut self) {
        (self.oldest, self.head) = (self.next, self.next);
        self.entries = Entries::default();
        self.debt = 0;
        self.registers.fill(0);
        self.move_elimination.forget();
        self.mshr_blocked.clear();
        self.stores.forget();
        self.stack_moved = false;
        self.is_held = false;
        self.starved = None;
        self.sibling_entries = Default::default();
        self.ordering_violation = None;
        self.is_reexecuting = true;
        (self.paused, self.held_until) = (0, 0);
    }
}
