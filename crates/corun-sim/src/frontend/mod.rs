//! The front end: instructions from the op cache or the decoder into the queue, along the path that the
//! program took, and beside active siblings along wrong paths, too (`wrong_path`).

pub(crate) mod branch;
mod decode;
mod loop_buffer;
pub(crate) mod microcode;
pub(crate) mod op_cache;
mod path;
pub(crate) mod predecoder;
mod structures;
mod warm_up;
mod window_reads;
pub(crate) mod wrong_path;

use crate::core::in_flight::NEVER;
use crate::core::thread::{MAX_THREADS, Queued, Thread, VALUES};
use crate::core::{Core, InstructionSource};
use crate::frontend::branch::Outcome;
use crate::frontend::op_cache::Filling;
use crate::frontend::predecoder::Predecoder;
use crate::memory::{Memory, SiblingEviction};
use crate::sharing::Requester;
use corun_model::{Choice, CoreModel, Policy};
use path::Path;
pub(crate) use path::Place;
use smallvec::SmallVec;
use structures::{Budget, Code};
use window_reads::WindowReads;
use wrong_path::WrongPlace;

pub(crate) use structures::Front;
pub(crate) use warm_up::Pace;

/// Where a thread's next instructions come from.
#[derive(Debug)]
pub(crate) struct Fetcher {
    path: Path,
    /// Whether a sibling used the front end when this thread could have.
    was_kept_out: bool,
    /// From when on it goes on.
    resume: u64,
    /// The micro-op that must be executed before it goes on, once that is known.
    branch: Option<u64>,
    awaits_branch: bool,
    /// Where it goes on wrongly meanwhile.
    wrong: Option<WrongPlace>,
    /// From when on what follows the last mispredicted branch can be renamed.
    refilled: u64,
    /// Micro-ops on their way into the op cache.
    filling: Filling,
    window_reads: WindowReads,
    predecoder: Option<Predecoder>,
    /// The line that was fetched last, and when it can be decoded.
    line: u64,
    line_ready: u64,
    /// Until when it waits for a line that a sibling evicted, and for how long of that.
    evicted: (u64, SiblingEviction),
    is_decoding: bool,
    /// The first byte that the last fetch did not bring.
    fetched_to: u64,
    /// Whether a NOP that comes next shares the slot of the last instruction.
    admits_nop: bool,
}

/// Cycles from a line to the first of its micro-ops that can be renamed.
const DECODED: u64 = 1;
/// Cycles until a thread that waits at a synchronisation point polls again.
const SYNC_POLL: u64 = 50;

impl Fetcher {
    pub(crate) fn new(model: &CoreModel) -> Self {
        Self {
            path: Path::new(model.front.prediction.ahead),
            was_kept_out: false,
            resume: 0,
            branch: None,
            awaits_branch: false,
            wrong: None,
            refilled: 0,
            filling: Filling::default(),
            window_reads: WindowReads::default(),
            predecoder: model.front.predecoder.as_ref().map(|one| {
                let fetch = &model.front.fetch;
                Predecoder::new(one, fetch.bytes, fetch.length_changing_prefix)
            }),
            line: u64::MAX,
            line_ready: 0,
            evicted: (0, SiblingEviction::default()),
            is_decoding: true,
            fetched_to: 0,
            admits_nop: false,
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.path.is_at_end()
    }

    /// Whether there is nothing to fetch, now or for good.
    pub(crate) fn has_nothing(&self) -> bool {
        self.path.has_nothing()
    }

    /// Whether what comes next needs neither fetch nor decoders.
    fn is_looping(&self) -> bool {
        self.path.current.is_some_and(|place| place.is_looping)
    }

    /// Whether it waits at a synchronisation point.
    pub(crate) fn waits(&self) -> bool {
        self.path.waits()
    }

    /// What it waits for, if that is a line that a sibling evicted.
    pub(crate) fn evicted(&self, now: u64) -> Option<SiblingEviction> {
        let (until, evicted) = self.evicted;
        let begin = until.saturating_sub(evicted.cycles.into());
        let is_late = evicted.cycles > 0 && begin <= now && now < until + DECODED;
        is_late.then_some(evicted)
    }

    pub(crate) fn was_kept_out(&self) -> bool {
        self.was_kept_out
    }

    /// Whether what is renamed next lies after a wrongly predicted branch, and has not been fetched yet.
    pub(crate) fn recovers(&self, now: u64) -> bool {
        self.awaits_branch || now < self.refilled
    }

    /// Whether everything that is renamed now lies on a wrong path.
    pub(crate) fn is_astray(&self) -> bool {
        self.awaits_branch && self.branch.is_some()
    }

    /// The mispredicted branch is executed: fetch goes on rightly at cycle `at`.
    fn redirect(&mut self, at: u64) {
        (self.awaits_branch, self.branch) = (false, None);
        self.restart();
        self.resume = at;
        self.path.redirect(at);
        // What is fetched then can be renamed in the next cycle.
        self.refilled = at + 1;
    }

    /// What it waits for, for people.
    pub(crate) fn waits_for(&self, now: u64) -> String {
        if self.waits() {
            "other threads of its process, at a synchronisation point".to_owned()
        } else if self.awaits_branch {
            match self.branch {
                Some(branch) => format!("its mispredicted branch, micro-op {branch}"),
                None => "its mispredicted branch to be renamed".to_owned(),
            }
        } else if self.resume > now {
            format!("cycle {}, when fetch resumes", self.resume)
        } else {
            let from = if self.is_decoding { "the decoders" } else { "the op cache" };
            format!("its turn to fetch from {from}")
        }
    }

    /// The micro-op that decides where to go on.
    pub(crate) fn await_branch(&mut self, sequence: u64) {
        self.branch = Some(sequence);
    }

    /// Whether this micro-op decides where to go on; if so, it is going to be another one.
    pub(crate) fn await_again(&mut self, sequence: u64) -> bool {
        let is_it = self.branch == Some(sequence);
        if is_it {
            self.branch = None;
        }
        is_it
    }

    /// What was fetched or is being decoded after the last instruction is not what follows it.
    fn jump(&mut self, requester: Requester, front: &mut Front) {
        self.fetched_to = 0;
        self.admits_nop = false;
        self.window_reads.jump();
        if let Some(cache) = &mut front.decoded {
            cache.of(requester).jump(&mut self.filling);
        }
        if let Some(predecoder) = &mut self.predecoder {
            predecoder.jump();
        }
    }

    pub(crate) fn next_event(&self, now: u64) -> Option<u64> {
        if self.waits() {
            return Some(now + SYNC_POLL);
        }
        let (until, evicted) = self.evicted;
        let blamed = until.saturating_sub(evicted.cycles.into());
        let next = if blamed > now { self.resume.min(blamed) } else { self.resume };
        let fetch = (!self.awaits_branch && self.path.current.is_some()).then_some(next);
        let predicted = self.path.next_event();
        let wrong = self.wrong.and_then(|place| place.from());
        [fetch, predicted, wrong].into_iter().flatten().filter(|at| *at > now).min()
    }
}

impl<F: InstructionSource> Core<F> {
    pub(crate) fn fetch(&mut self, memory: &mut Memory) {
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
                self.fetch_turn.take(index);
            }
            let is_kept_out = is_kept_out || is_taken && fetching == Policy::Shared;
            is_taken |= is_used;
            if (budget.instructions, budget.bytes) != before && decoding == Policy::Alternating {
                budget.instructions = 0;
            }
            self.threads[index].fetcher.was_kept_out =
                is_kept_out && !is_used && self.may_fetch(index) && self.has_room_in_queue(index);
        }
    }

    /// Among how many threads the lines of a cycle of the op cache are divided, where more than one reads it.
    fn op_cache_parts(&self) -> u32 {
        let is_own = |cache: &corun_model::OpCache| cache.sharing.policy == Policy::Replicated;
        match self.parameters.widths.fetch_policy {
            Policy::Replicated if self.front.op_cache.as_ref().is_some_and(is_own) => 1,
            Policy::Replicated | Policy::Partitioned => self.active,
            Policy::Shared | Policy::Alternating => 1,
        }
    }

    /// The threads in the order in which they may fetch in this cycle.
    fn fetch_order(&self) -> SmallVec<[usize; MAX_THREADS]> {
        let count = self.threads.len();
        let mut order: SmallVec<[usize; MAX_THREADS]> =
            (0..count).map(|place| self.fetch_turn.thread(place, count)).collect();
        if self.parameters.widths.fetch_choice == Choice::InstructionCount {
            order.sort_by_key(|&index| {
                let thread = &self.threads[index];
                thread.queue_used + thread.scheduler_used.iter().sum::<u32>()
            });
        }
        order
    }

    fn has_room_in_queue(&self, index: usize) -> bool {
        let all = self.threads.iter().map(|thread| thread.queue_used).sum();
        self.parameters.limits.queue.has_room(self.threads[index].queue_used, all, 1)
    }

    /// Returns whether the thread used the front end in this cycle, which a loop buffer spares it.
    fn fetch_thread(&mut self, index: usize, budget: &mut Budget, memory: &mut Memory) -> bool {
        if !self.may_fetch(index) {
            return self.fetch_wrong_path(index, budget, memory);
        }
        let mut is_used = false;
        budget.waiting = self.threads[index].queue_used;
        let siblings = self.all(|thread| thread.queue_used) - budget.waiting;
        let request = self.request(index, 0, 0);
        let mut code = Code { memory, request, now: self.now };
        loop {
            is_used |= self.take_read(index, budget, siblings);
            let thread = &mut self.threads[index];
            let own = thread.queue_used;
            let Some(place) = &thread.fetcher.path.current else { break };
            let lowered =
                &self.code[place.step.block as usize].instructions[place.instruction as usize];
            let (slots, is_looping) = (u32::from(lowered.slots), place.is_looping);
            if !self.parameters.limits.queue.has_room(own, siblings + own, slots) && own > 0 {
                break;
            }
            if !thread.fetcher.admit(lowered, budget, &mut self.front, &mut code) {
                // What was done towards it, such as a fetch of its first bytes, goes on in the next cycle.
                self.is_active |= thread.fetcher.resume <= self.now;
                break;
            }
            is_used |= !is_looping;
            self.is_active = true;
            if self.enqueue(index) {
                break;
            }
        }
        if budget.bytes > 0 {
            self.fetch_ahead(index, budget, &mut code);
        }
        is_used
    }

    /// Puts the instructions into the queue that the present line of the op cache gives and that have room, but for the last
    /// one of a step. Returns whether there are any.
    fn take_read(&mut self, index: usize, budget: &mut Budget, siblings: u32) -> bool {
        let Self { parameters, threads, code, .. } = self;
        let Thread { fetcher, queue, queue_used, values, .. } = &mut threads[index];
        let Some(place) = fetcher.path.current.as_mut().filter(|place| !place.is_looping) else {
            return false;
        };
        if fetcher.is_decoding || place.reading.end <= place.address {
            return false;
        }
        let instructions = &code[place.step.block as usize].instructions;
        let last = instructions.len().min(place.step.executed as usize).saturating_sub(1);
        let limit = &parameters.limits.queue;
        let first = place.instruction;
        while place.reading.end > place.address
            && let Some(lowered) = instructions[..last].get(place.instruction as usize)
        {
            let slots = u32::from(lowered.slots);
            let own = *queue_used;
            if !limit.has_room(own, siblings + own, slots) && own > 0 {
                break;
            }
            let Some(given) = budget.given_with(lowered.entries(), &place.reading) else { break };
            budget.uops = given;
            let shares_slot = lowered.is_nop && fetcher.admits_nop;
            fetcher.admits_nop =
                parameters.widths.nops_share_slots && !shares_slot && lowered.slots == 1;
            queue.push_back(Queued::of(place, lowered, shares_slot, self.now));
            *queue_used += slots;
            place.pass(lowered, values);
        }
        let is_any = place.instruction != first;
        budget.is_first &= !is_any;
        self.is_active |= is_any;
        is_any
    }

    /// Fetches what lies straight on up to the next branch, if the decoders needed no fetch in this cycle.
    fn fetch_ahead(&mut self, index: usize, budget: &mut Budget, code: &mut Code<'_>) {
        let fetch = &self.front.fetch;
        let fetcher = &mut self.threads[index].fetcher;
        let Some(Place { step, address, .. }) =
            fetcher.path.current.filter(|_| fetcher.is_decoding)
        else {
            return;
        };
        let ahead = address + u64::from(fetch.ahead);
        if fetcher.predecoder.is_some() || !(address..ahead).contains(&fetcher.fetched_to) {
            return;
        }
        let end = step.address + self.code[step.block as usize].bytes();
        if fetcher.fetched_to < end {
            budget.bytes = 0;
            self.is_active |= fetcher.fetch_block(budget.each_fetch.into(), code).is_ok();
        }
    }

    fn may_fetch(&mut self, index: usize) -> bool {
        let thread = &mut self.threads[index];
        if thread.fetcher.waits() {
            let is_done = thread.is_drained() && !thread.has_stores(self.now);
            let Some(from) = is_done.then(|| thread.source.pass(self.now)).flatten() else {
                return false;
            };
            thread.resumes = from;
            thread.pages = thread.source.pages();
            self.predictor.enter(index, thread.pages.space());
            let fetcher = &mut thread.fetcher;
            fetcher.path.pass();
            fetcher.resume = from;
        }
        self.begin(index);
        let thread = &mut self.threads[index];
        if thread.fetcher.awaits_branch {
            return false;
        }
        // A sibling's program may have kept it back since.
        let resume = thread.fetcher.resume.max(self.front.microcode.until(index));
        thread.fetcher.resume = resume;
        resume <= self.now && thread.fetcher.path.current.is_some()
    }

    /// Puts an instruction into the queue and goes to the next. Returns whether fetch ends for now.
    fn enqueue(&mut self, index: usize) -> bool {
        let thread = &mut self.threads[index];
        let Some(place) = &mut thread.fetcher.path.current else { return true };
        let step = place.step;
        let lowered = &self.code[step.block as usize].instructions[place.instruction as usize];
        // One NOP at most shares the slot of an instruction, in whichever blocks the two are.
        let shares_slot = lowered.is_nop && thread.fetcher.admits_nop;
        thread.fetcher.admits_nop =
            self.parameters.widths.nops_share_slots && !shares_slot && lowered.slots == 1;
        thread.queue.push_back(Queued::of(place, lowered, shares_slot, self.now));
        thread.queue_used += u32::from(lowered.slots);
        place.pass(lowered, &thread.values);
        if place.instruction < step.executed {
            return false;
        }
        let Place { address, reading, .. } = *place;
        let end = self.ending(index);
        self.advance(index);
        let thread = &mut self.threads[index];
        let fetcher = &mut thread.fetcher;
        let Some(next) = &mut fetcher.path.current else { return true };
        let (mut from, mut is_straight) = (next.from, next.address == address);
        if is_straight {
            next.reading = reading;
        } else if let Some(Outcome::Right { .. }) = end
            && reading.end == address
            && let Some(reading) = {
                let space = thread.pages.space() & !0xfff;
                self.front.go_on(reading, next.address, space, thread.requester)
            }
        {
            // As if it were straight: neither another line, nor the bubble after the branch.
            (next.reading, from, is_straight) = (reading, 0, true);
        } else {
            fetcher.jump(thread.requester, &mut self.front);
        }
        match end {
            Some(Outcome::Resteer) => {
                fetcher.restart();
                fetcher.resume = self.now + self.parameters.penalties.resteer;
                fetcher.path.redirect(fetcher.resume);
            }
            Some(Outcome::Mispredict) => {
                if let Some(queued) = thread.queue.back_mut() {
                    queued.is_mispredicted = true;
                }
                fetcher.awaits_branch = true;
                thread.mispredicts += 1;
                self.enter_wrong_path(index);
            }
            Some(Outcome::Right { .. }) | None if from > self.now => fetcher.resume = from,
            Some(Outcome::Right { .. }) | None => return !is_straight,
        }
        true
    }
}
