//! Machine clears of memory ordering: the pipeline is flushed and refetched from a load
//! whose line another core wrote before the load was retired.
//!
//! x86 loads seem to happen in program order. A core loads ahead all the same, remembers the lines, and when
//! one is taken from it before the load is retired, executes everything again from that load on.

use crate::core::{Core, InstructionSource};
use crate::frontend::Queued;
use crate::memory::{Memory, lines};
use crate::uops::{Buffer, InFlightUop};

impl<F: InstructionSource> Core<F> {
    /// Searches for loads of lines that other cores have taken by now.
    pub(super) fn check_snoops(&mut self, memory: &mut Memory) {
        let (now, shift) = (self.now, self.parameters.load_store.line_shift);
        self.next_snoop = None;
        let Some(taken) = memory.taken(self.number).filter(|taken| !taken.is_empty()) else {
            return;
        };
        for (line, at) in taken.extract_if(.., |(_, at)| *at <= now) {
            for thread in &mut self.threads {
                let pages = thread.pages;
                thread.rob.snoop(at, |uop: &InFlightUop| {
                    let mut all = lines(uop.address, uop.span.into());
                    all.any(|at| pages.physical(at) >> shift == line)
                });
            }
        }
        self.next_snoop = taken.iter().map(|(_, at)| *at).min();
    }

    /// Flushes everything that a thread has not retired, to be executed again.
    pub(super) fn machine_clear(&mut self, index: usize) {
        self.squash(index);
        let Self { threads, schedulers, code, .. } = self;
        let thread = &mut threads[index];
        schedulers.clear(index);
        thread.rob.in_flight().for_each(|uop| schedulers.squash(index, uop));
        // What is renamed in part has taken its first slots only.
        thread.stack.redo(thread.rob.count(Buffer::Rob).saturating_sub(thread.debt));
        let instructions = thread.rob.clear();
        for renamed in instructions.into_iter().rev().filter(|renamed| renamed.instructions > 0) {
            let Queued { block, instruction, .. } = renamed.queued;
            let slots = code[block as usize].instructions[instruction as usize].slots;
            let is_mispredicted =
                renamed.queued.is_mispredicted && thread.fetcher.await_again(renamed.end - 1);
            thread.queue.put_back(Queued { slots, is_mispredicted, ..renamed.queued });
        }
        thread.registers.clear();
        thread.stores.clear();
        self.loads.keep(index, |_| false);
        (thread.debt, thread.starved_since, thread.sibling_entries) = (0, None, Default::default());
        thread.paused = 0;
        thread.cleared = self.now + self.parameters.penalties.machine_clear;
        self.is_active = true;
    }
}
