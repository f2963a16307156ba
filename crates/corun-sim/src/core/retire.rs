//! The retire stage: results become final in program order.

use crate::core::{Core, InstructionSource};
use crate::memory::{Memory, Request, lines};
use crate::uops::InFlightUop;
use corun_model::Policy;

impl<F: InstructionSource> Core<F> {
    /// Retires what is done, in order.
    pub(super) fn retire(&mut self, memory: &Memory) {
        let (count, now) = (self.threads.len(), self.now);
        let hold = self.parameters.penalties.retire_hold;
        let (mut width, policy) =
            (self.parameters.widths.retire, self.parameters.widths.retire_policy);
        // What is wider than a thread ever has is retired all the same.
        let whole = match policy {
            Policy::Partitioned => (width / self.active).max(1),
            _ => width,
        };
        let turn = self.turns.retire;
        let mut is_taken = false;
        for place in 0..count {
            let index = turn.thread(place, count);
            let (thread, core) = (&mut self.threads[index], self.number);
            let (requester, pages) = (thread.requester, thread.pages);
            let is_contended = |uop: &InFlightUop| {
                memory.is_any_contended()
                    && lines(uop.address, uop.span.into()).any(|linear| {
                        let request = Request { core, requester, instruction: 0, linear, pages };
                        memory.is_contended(request)
                    })
            };
            self.is_active |= thread.rob.complete(now, hold, is_contended);
            let most = match policy {
                Policy::Replicated | Policy::Partitioned => whole,
                Policy::Shared | Policy::Alternating => width,
            };
            let (mut left, before) = (most, thread.rob.retired());
            loop {
                let thread = &mut self.threads[index];
                if thread.rob.must_clear() {
                    self.machine_clear(index);
                    break;
                }
                let Some(retired) = thread.rob.retire(left, whole, now) else { break };
                self.is_active = true;
                left = left.saturating_sub(retired.slots);
                thread.stores.retire(retired.stores);
            }
            let thread = &mut self.threads[index];
            let retired = thread.rob.retired() - before;
            if retired > 0 {
                thread.source.retire(retired);
            }
            width = match policy {
                Policy::Alternating if left < most => 0,
                _ => left,
            };
            if left < most && !is_taken {
                self.turns.retire.take(index);
                is_taken = true;
            }
        }
    }
}
