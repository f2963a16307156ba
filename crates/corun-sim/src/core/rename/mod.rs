//! The rename stage: micro-ops take their places in the back end, and learn what they wait for.

mod allocation;
mod enter;

use crate::core::cycle_stack::{Component, Shared};
use crate::core::{Core, InstructionSource};
use crate::memory::Origin;
use crate::parameters::{Limit, Parameters};
use crate::uops::{Buffer, DecodedBlock, DecodedInstruction, Effect};
use allocation::LostTo;
use corun_model::Policy;

/// A buffer without room for a thread, of which that has `own` entries.
struct Full {
    what: (Component, Shared),
    limit: Limit,
    own: u32,
}

/// The index of the code that holds nothing but the update of the stack pointer.
const STACK_UPDATE: (u32, u32) = (0, 0);

impl<F: InstructionSource> Core<F> {
    /// Renames instructions of all threads, and notes what slots are lost to.
    pub(in crate::core) fn rename(&mut self) {
        let count = self.threads.len();
        self.schedulers.begin_rename(self.now);
        let (whole, policy) =
            (self.parameters.widths.dispatch, self.parameters.widths.dispatch_policy);
        let mut width = whole;
        let turn = self.turns.rename;
        let mut is_taken = false;
        let starved = self.starved_thread();
        let code = std::mem::take(&mut self.code);
        for place in 0..count {
            let index = turn.thread(place, count);
            let most = match policy {
                _ if starved.is_some_and(|starved| starved != index) => 0,
                Policy::Replicated => whole,
                Policy::Partitioned => (whole / self.active).max(1),
                Policy::Shared | Policy::Alternating => width,
            };
            let (used, lost_to) = self.rename_thread(index, most, &code);
            let wrong = std::mem::take(&mut self.threads[index].renamed_wrongly);
            width = match policy {
                Policy::Alternating if used > 0 => 0,
                _ => width.saturating_sub(used),
            };
            if used > 0 && !is_taken {
                self.turns.rename.take(index);
                is_taken = true;
            }
            let thread = &mut self.threads[index];
            if thread.fetcher.renames_wrong_path() {
                thread.starved_since = None;
                thread.stack.note(used.saturating_sub(wrong), Component::Mispredict);
            } else {
                thread.stack.note(used, lost_to);
            }
        }
        self.code = code;
    }

    /// Returns the slots used, and what the others are lost to.
    fn rename_thread(
        &mut self,
        index: usize,
        width: u32,
        code: &[DecodedBlock],
    ) -> (u32, Component) {
        let debt = self.threads[index].debt.min(width);
        self.threads[index].debt -= debt;
        let mut used = debt;
        let mut moves = self.parameters.widths.moves_a_cycle;
        let count = self.threads.len();
        self.threads[index].registers.begin(self.now);
        let lacking = self.lacks_room(index);
        if lacking.as_ref().is_some_and(|full| full.own == 0) {
            // Siblings alone fill it.
            let since = self.threads[index].starved_since.unwrap_or(self.now);
            self.threads[index].starved_since = Some(since);
        }
        match lacking {
            Some(Full { what, limit, own })
                if count > 1 && limit.is_taken(own, self.parameters.widths.dispatch) =>
            {
                return (0, self.lost(index, what, own, limit.alone - own));
            }
            Some(Full { what: (full, _), .. }) => return (0, self.cause(index, full)),
            None => {}
        }
        let mut is_first = true;
        while used < width || (is_first && width == 0) {
            is_first = false;
            let thread = &self.threads[index];
            if thread.cleared > self.now {
                return (used, Component::Memory(Origin::OtherCore));
            }
            let Some(queued) = thread.queue.ready(self.now) else {
                return (used, self.front_end_stall(index));
            };
            if thread.rob.is_serialized() || thread.paused > self.now {
                return (used, Component::Serializing);
            }
            let next = &code[queued.block as usize].instructions[queued.instruction as usize];
            let (lowered, needs_update) = if next.digest.is_plain {
                (next, false)
            } else {
                match self.prepare(index, next, code, used) {
                    Ok(prepared) => prepared,
                    Err(lost_to) => return (used, lost_to),
                }
            };
            if let Err(stall) = self.allocate(index, lowered, used) {
                let thread = &mut self.threads[index];
                let since = thread.starved_since.unwrap_or(self.now);
                thread.starved_since = (stall.is_by_sibling && used == 0).then_some(since);
                let lost_to = match stall.lost_to {
                    LostTo::This(component) => component,
                    LostTo::Full(buffer) => self.cause(index, buffer),
                };
                return (used, lost_to);
            }
            let thread = &mut self.threads[index];
            thread.starved_since = None;
            if width == 0 {
                self.schedulers.release(index, lowered);
                return (0, Component::Sibling(Shared::Dispatch));
            }
            let next =
                if needs_update { thread.queue.front().copied() } else { thread.queue.pop() };
            let Some(mut queued) = next else { break };
            queued.slots = if queued.shares_slot && !needs_update { 0 } else { lowered.renamed };
            let slots = u32::from(queued.slots);
            if queued.is_wrong {
                thread.renamed_wrongly += slots;
                self.keep_for_squash(index);
            }
            self.rename_instruction(index, lowered, &queued, needs_update);
            self.is_active = true;
            used += slots;
            if needs_update {
                self.threads[index].registers.update_stack();
            } else if matches!(lowered.effect, Effect::Move(..)) && slots > 0 {
                moves -= 1;
                if moves == 0 {
                    break;
                }
            }
        }
        let is_cut = used >= width && width < self.parameters.widths.dispatch;
        let lost_to = match is_cut && self.has_next(index, code, used) {
            true => Component::Sibling(Shared::Dispatch),
            false => Component::FrontEnd,
        };
        let thread = &mut self.threads[index];
        thread.debt += used.saturating_sub(width);
        (used.min(width), lost_to)
    }

    /// The form of an instruction to rename, that is not plain, and whether that is the update of the stack pointer
    /// which it needs first; or what keeps it back.
    fn prepare<'c>(
        &self,
        index: usize,
        next: &'c DecodedInstruction,
        code: &'c [DecodedBlock],
        used: u32,
    ) -> Result<(&'c DecodedInstruction, bool), Component> {
        let thread = &self.threads[index];
        let must_wait =
            !thread.rob.is_empty() || (next.is_draining && thread.stores.is_busy(self.now));
        if next.is_serializing && must_wait {
            return Err(self.cause(index, Component::Serializing));
        }
        let needs_update = thread.registers.needs_stack_update(next);
        let (block, instruction) = STACK_UPDATE;
        let update = &code[block as usize].instructions[instruction as usize];
        let lowered = thread.registers.executed(if needs_update { update } else { next });
        if lowered.renamed > lowered.slots
            && used > 0
            && used + u32::from(lowered.renamed) > self.parameters.widths.dispatch
        {
            // What was one micro-op until now is not torn apart over two cycles.
            return Err(Component::FrontEnd);
        }
        Ok((lowered, needs_update))
    }

    /// True if a thread has one more instruction to rename, and room for it.
    fn has_next(&mut self, index: usize, code: &[DecodedBlock], used: u32) -> bool {
        let thread = &self.threads[index];
        let Some(queued) = thread.queue.ready(self.now) else { return false };
        let next = &code[queued.block as usize].instructions[queued.instruction as usize];
        let lowered = thread.registers.executed(next);
        let has_room = self.allocate(index, lowered, used).is_ok();
        if has_room {
            self.schedulers.release(index, lowered);
        }
        has_room
    }

    /// The buffer without room for all that is renamed in a cycle, where the core asks for that.
    fn lacks_room(&self, index: usize) -> Option<Full> {
        let Parameters { widths, limits, .. } = &self.parameters;
        let (whole_groups, dispatch) = (widths.whole_groups, widths.dispatch);
        let thread = &self.threads[index];
        if !whole_groups || thread.queue.ready(self.now).is_none() {
            return None;
        }
        let rob = limits.of(Buffer::Rob);
        let (own, all) =
            (thread.rob.count(Buffer::Rob), self.all(|thread| thread.rob.count(Buffer::Rob)));
        if all > 0 && !rob.has_room(own, all, dispatch) {
            let what = (Component::ReorderBuffer, Shared::ReorderBuffer);
            return Some(Full { what, limit: rob, own });
        }
        let (limit, own) = self.schedulers.without_room(index, &limits.schedulers, dispatch)?;
        let what = (Component::Scheduler, Shared::Scheduler);
        Some(Full { what, limit, own })
    }
}
