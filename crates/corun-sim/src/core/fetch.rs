//! The fetch stage: threads share the front end, predict ahead, and fill their queues.

use smallvec::SmallVec;

use crate::core::Core;
use crate::core::thread::Thread;
use crate::frontend::branch::Outcome;
use crate::frontend::{Budget, Code, InstructionSource};
use crate::memory::Memory;
use crate::sharing::MAX_THREADS;
use corun_model::{Choice, Policy};

impl<F: InstructionSource> Core<F> {
    pub(super) fn fetch(&mut self, memory: &mut Memory) {
        self.predict_ahead(memory);
        let count = self.threads.len();
        if count == 1 {
            let mut budget = self.front.budget(1, 1, 1);
            self.fetch_thread(0, &mut budget, memory);
            return;
        }
        let (fetching, decoding) =
            (self.parameters.widths.fetch_policy, self.parameters.widths.decode_policy);
        let parts = |policy| if policy == Policy::Partitioned { self.active } else { 1 };
        let whole = self.front.budget(parts(fetching), self.op_cache_parts(), parts(decoding));
        let mut budget = whole;
        let order = self.fetch_order();
        let mut is_taken = false;
        for index in order {
            if matches!(fetching, Policy::Replicated | Policy::Partitioned) {
                budget = Budget { instructions: budget.instructions, ..whole };
            }
            if matches!(decoding, Policy::Replicated | Policy::Partitioned) {
                (budget.instructions, budget.decoded) = (whole.instructions, 0);
            }
            let is_kept_out = is_taken && fetching == Policy::Alternating;
            if is_kept_out {
                // What it fetched before can still be decoded, unless that is another one's turn, too.
                (budget.lines, budget.width, budget.bytes) = (0, 0, 0);
            }
            (budget.is_first, budget.looped) = (true, 0);
            let before = (budget.instructions, budget.bytes);
            let may_decode = !(is_kept_out && decoding == Policy::Alternating);
            let is_used = (may_decode || self.threads[index].fetcher.is_looping())
                && self.fetch_thread(index, &mut budget, memory);
            if is_used && !is_taken {
                self.turns.fetch.take(index);
            }
            let is_kept_out = is_kept_out || is_taken && fetching == Policy::Shared;
            is_taken |= is_used;
            if (budget.instructions, budget.bytes) != before && decoding == Policy::Alternating {
                budget.instructions = 0;
            }
            let was_kept_out =
                is_kept_out && !is_used && self.may_fetch(index) && self.has_room_in_queue(index);
            self.threads[index].fetcher.set_kept_out(was_kept_out);
        }
    }

    /// Among how many threads the lines of a cycle of the op cache are divided, where more than one reads it.
    fn op_cache_parts(&self) -> u32 {
        match self.parameters.widths.fetch_policy {
            Policy::Replicated if self.front.has_own_op_caches() => 1,
            Policy::Replicated | Policy::Partitioned => self.active,
            Policy::Shared | Policy::Alternating => 1,
        }
    }

    /// The threads in the order in which they may fetch in this cycle.
    fn fetch_order(&self) -> SmallVec<[usize; MAX_THREADS]> {
        let count = self.threads.len();
        let mut order: SmallVec<[usize; MAX_THREADS]> =
            (0..count).map(|place| self.turns.fetch.thread(place, count)).collect();
        if self.parameters.widths.fetch_choice == Choice::InstructionCount {
            order.sort_by_key(|&index| {
                self.threads[index].queue.slots() + self.schedulers.occupied_by(index)
            });
        }
        order
    }

    /// Slots that siblings of a thread have taken of their queues.
    fn queued_by_siblings(&self, index: usize) -> u32 {
        self.all(|thread| thread.queue.slots()) - self.threads[index].queue.slots()
    }

    fn has_room_in_queue(&self, index: usize) -> bool {
        let siblings = self.queued_by_siblings(index);
        self.threads[index].queue.has_room(&self.parameters.limits.queue, siblings, 1)
    }

    /// Returns whether the thread used the front end in this cycle, which a loop buffer spares it.
    fn fetch_thread(&mut self, index: usize, budget: &mut Budget, memory: &mut Memory) -> bool {
        if !self.may_fetch(index) {
            return self.fetch_wrong_path(index, budget, memory);
        }
        let mut is_used = false;
        budget.waiting = self.threads[index].queue.slots();
        let siblings = self.queued_by_siblings(index);
        let (request, now) = (self.request(index, 0, 0), self.now);
        let mut code = Code { memory, request, now };
        loop {
            let Self { parameters, threads, code: blocks, front, .. } = self;
            let Thread { fetcher, queue, values, .. } = &mut threads[index];
            let is_any =
                fetcher.take_read((queue, values), budget, siblings, parameters, blocks, now);
            is_used |= is_any;
            self.is_active |= is_any;
            let Some(lowered) = fetcher.next(blocks) else { break };
            if !queue.admits(&parameters.limits.queue, siblings, lowered.slots.into()) {
                break;
            }
            let is_looping = fetcher.is_looping();
            if !fetcher.admit(lowered, budget, front, &mut code) {
                // What was done towards it, such as a fetch of its first bytes, goes on in the next cycle.
                self.is_active |= fetcher.resumes() <= now;
                break;
            }
            is_used |= !is_looping;
            self.is_active = true;
            if self.enqueue(index) {
                break;
            }
        }
        if budget.bytes > 0 {
            let Self { threads, code: blocks, front, .. } = self;
            self.is_active |= threads[index].fetcher.fetch_ahead(budget, front, blocks, &mut code);
        }
        is_used
    }

    /// Fetches along a wrong path, while siblings may notice. Returns whether that took the front end's turn.
    fn fetch_wrong_path(&mut self, index: usize, budget: &mut Budget, memory: &mut Memory) -> bool {
        if !self.threads[index].fetcher.is_on_wrong_path() || !self.follows_wrong_paths() {
            return false;
        }
        let siblings = self.queued_by_siblings(index);
        let mut code = Code { memory, request: self.request(index, 0, 0), now: self.now };
        let Self { parameters, threads, code: blocks, front, .. } = self;
        let Thread { fetcher, queue, values, .. } = &mut threads[index];
        let room = (&parameters.limits.queue, siblings);
        let is_used =
            fetcher.fetch_wrong_path((queue, values), budget, room, front, blocks, &mut code);
        self.is_active |= is_used;
        is_used
    }

    fn may_fetch(&mut self, index: usize) -> bool {
        let now = self.now;
        let thread = &mut self.threads[index];
        if thread.fetcher.awaits_sync() {
            let is_done = thread.is_drained() && !thread.stores.is_busy(now);
            let Some(from) = is_done.then(|| thread.source.pass(now)).flatten() else {
                return false;
            };
            thread.resumes = from;
            thread.pages = thread.source.pages();
            self.front.enter(index, thread.pages.space());
            thread.fetcher.pass(from);
        }
        self.begin(index);
        self.threads[index].fetcher.may_fetch(index, &self.front, now)
    }

    /// Puts an instruction into the queue and goes to the next. Returns whether fetch ends for now.
    fn enqueue(&mut self, index: usize) -> bool {
        let Self { parameters, threads, code, now, .. } = self;
        let Thread { fetcher, queue, values, .. } = &mut threads[index];
        let nops_share_slots = parameters.widths.nops_share_slots;
        let Some(before) = fetcher.enqueue((queue, values), nops_share_slots, code, *now) else {
            return false;
        };
        let end = self.ending(index);
        self.advance(index);
        let (resteer, now) = (self.parameters.penalties.resteer, self.now);
        let thread = &mut self.threads[index];
        let program = (thread.requester, thread.pages.space());
        let is_over =
            thread.fetcher.enter_step(&before, end, &mut self.front, program, resteer, now);
        if end == Some(Outcome::Mispredict) {
            thread.queue.mark_mispredicted();
            thread.mispredicts += 1;
            if self.follows_wrong_paths() {
                let thread = &mut self.threads[index];
                thread.fetcher.enter_wrong_path(&thread.values);
            }
        }
        is_over
    }

    /// Takes the first steps from the instruction source, unless that was done.
    pub(super) fn begin(&mut self, index: usize) {
        if self.threads[index].fetcher.is_to_begin() {
            self.supply(index);
            self.advance(index);
            self.is_active = true;
        }
    }

    /// Goes to the following step, and takes more from the instruction source.
    pub(super) fn advance(&mut self, index: usize) {
        let is_followed = self.follows_wrong_paths();
        self.threads[index].fetcher.advance(is_followed);
        self.supply(index);
    }

    fn supply(&mut self, index: usize) {
        let Thread { source, fetcher, queue, values, rob, .. } = &mut self.threads[index];
        let oldest = rob.front().map(|renamed| renamed.queued.values);
        let oldest = oldest.or(queue.front().map(|queued| queued.values));
        fetcher.supply(source, oldest, values, &mut self.code, self.now);
    }

    /// The prediction of the end of the step that is being fetched, if something follows.
    pub(super) fn ending(&mut self, index: usize) -> Option<Outcome> {
        let Self { parameters, threads, code, front, now, .. } = self;
        threads[index].fetcher.predict_end(index, front, code, parameters, *now)
    }

    /// Lets prediction be ahead of fetch; threads take turns where they fetch in turns.
    fn predict_ahead(&mut self, memory: &mut Memory) {
        let count = self.threads.len();
        let is_one =
            matches!(self.parameters.widths.fetch_policy, Policy::Alternating | Policy::Shared);
        for place in 0..count {
            let index = self.turns.predict.thread(place, count);
            if self.threads[index].fetcher.next_prediction().is_none_or(|free| free > self.now) {
                continue;
            }
            let request = self.request(index, 0, 0);
            let mut code = Code { memory, request, now: self.now };
            let Self { parameters, threads, code: blocks, front, .. } = self;
            let fetcher = &mut threads[index].fetcher;
            if fetcher.predict_ahead(index, front, blocks, parameters, &mut code) {
                self.is_active = true;
                if is_one {
                    self.turns.predict.take(index);
                    break;
                }
            }
        }
    }

    /// Wrong paths are followed while siblings may notice.
    pub(super) fn follows_wrong_paths(&self) -> bool {
        self.active > 1 && self.parameters.penalties.wrong_paths
    }
}
