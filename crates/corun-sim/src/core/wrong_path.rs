//! Wrong paths in the back end: a mispredicted branch is executed, and what came after it is squashed.

use crate::core::{Core, InstructionSource};
use crate::rename::RegisterMap;
use crate::uops::{Handle, NEVER};

/// State of a thread when the first micro-op of a wrong path was renamed.
#[derive(Debug)]
pub(super) struct BeforeWrongPath {
    /// The number of that micro-op.
    next: u64,
    registers: RegisterMap,
}

impl<F: InstructionSource> Core<F> {
    /// Lets threads whose mispredicted branch is being executed go on rightly.
    pub(super) fn resolve_branches(&mut self) {
        for index in 0..self.threads.len() {
            let thread = &self.threads[index];
            let Some(branch) = thread.fetcher.awaited_branch() else { continue };
            let is_final = branch < thread.rob.head();
            let done = if is_final { self.now } else { thread.rob.uop_at(branch).done };
            if done != NEVER {
                self.squash(index);
                let resume = done.max(self.now) + self.parameters.penalties.mispredict;
                self.threads[index].fetcher.redirect(resume);
            }
        }
    }

    /// Keeps what a thread has, unless that was done, before its first micro-op on a wrong path is renamed.
    pub(super) fn keep_for_squash(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if thread.before_wrong_path.is_none() {
            let (next, registers) = (thread.rob.next(), thread.registers.clone());
            thread.before_wrong_path = Some(Box::new(BeforeWrongPath { next, registers }));
        }
    }

    /// Drops what a thread has of a wrong path, and takes back what was kept.
    pub(super) fn squash(&mut self, index: usize) {
        let Self { threads, schedulers, loads, now, .. } = self;
        let thread = &mut threads[index];
        thread.fetcher.leave_wrong_path();
        thread.queue.squash();
        let Some(before) = thread.before_wrong_path.take() else { return };
        thread.rob.squash(before.next, |uop| {
            schedulers.squash(index, uop);
            schedulers.free_unit(index, uop, *now);
        });
        let is_kept =
            |handle: Handle| handle.thread() != index || thread.rob.uop(handle).done == NEVER;
        schedulers.keep(is_kept);
        loads.keep(index, is_kept);
        thread.registers = before.registers;
        (thread.debt, thread.starved_since) = (0, None);
        self.is_active = true;
    }
}
