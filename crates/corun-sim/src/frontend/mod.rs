//! The front end: instructions from the op cache or the decoder into the queue, along the path that the
//! program took, and beside active siblings along wrong paths, too (`wrong_path`).

pub(crate) mod branch;
mod decode;
mod deliver;
mod loop_buffer;
mod microcode;
mod op_cache;
mod path;
mod predecoder;
mod queue;
mod source;
mod structures;
mod values;
mod window_reads;
mod wrong_path;

pub(crate) use queue::{Queued, UopQueue};
pub(crate) use source::{InstructionSource, Next, Step};
pub(crate) use structures::{Budget, Code, Front};
pub(crate) use values::Values;

use crate::memory::SiblingEviction;
use crate::parameters::Parameters;
use crate::sharing::Requester;
use crate::uops::{DecodedBlock, Outline};
use branch::Outcome;
use corun_model::CoreModel;
use op_cache::Filling;
use path::{Path, Place};
use predecoder::Predecoder;
use window_reads::WindowReads;
use wrong_path::{Visited, WrongPlace};

/// Fetcher of a thread's next instructions.
#[derive(Debug)]
pub(crate) struct Fetcher {
    /// The path that it takes.
    path: Path,
    /// True if a sibling used the front end when this thread could have.
    was_kept_out: bool,
    /// From when on it goes on.
    resume: u64,
    /// The micro-op that must be executed before it goes on, once that is known.
    branch: Option<u64>,
    awaits_branch: bool,
    /// Place on the wrong path meanwhile.
    wrong: Option<WrongPlace>,
    /// Code that wrong paths may lead to.
    visited: Visited,
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
    /// True if a NOP that comes next shares the slot of the last instruction.
    admits_nop: bool,
}

/// Instructions of a step.
pub(crate) struct RestOfStep<'c> {
    pub(crate) block: &'c DecodedBlock,
    /// The block's index.
    pub(crate) number: u32,
    /// Address of the block.
    pub(crate) address: u64,
    /// The first of them.
    pub(crate) first: u32,
    pub(crate) outlines: &'c [Outline],
    /// Their first value in the ring.
    pub(crate) values: u32,
    /// The line that was fetched before them.
    pub(crate) line: u64,
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
            visited: Visited::default(),
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

    /// True if what comes next needs neither fetch nor decoders.
    pub(crate) fn is_looping(&self) -> bool {
        self.path.current.is_some_and(|place| place.is_looping)
    }

    /// True if its program has ended.
    pub(crate) fn is_at_end(&self) -> bool {
        self.path.is_at_end()
    }

    /// True if there is nothing to fetch, now or for good.
    pub(crate) fn has_nothing(&self) -> bool {
        self.path.has_nothing()
    }

    /// True while it waits at a synchronisation point.
    pub(crate) fn awaits_sync(&self) -> bool {
        self.path.waits()
    }

    /// True if nothing was taken from the instruction source since its last synchronisation point.
    pub(crate) fn is_to_begin(&self) -> bool {
        self.path.is_to_begin()
    }

    /// Takes steps from the instruction source, as many as prediction may be ahead; the value at `oldest` is still needed.
    #[inline]
    pub(crate) fn supply(
        &mut self,
        source: &mut impl InstructionSource,
        oldest: Option<u32>,
        values: &mut Values,
        code: &mut Vec<DecodedBlock>,
        now: u64,
    ) {
        self.path.supply(source, oldest, values, code, now);
    }

    /// The prediction of the end of the step that is being fetched, if something follows.
    #[inline]
    pub(crate) fn predict_end(
        &mut self,
        thread: usize,
        front: &mut Front,
        code: &[DecodedBlock],
        parameters: &Parameters,
        now: u64,
    ) -> Option<Outcome> {
        self.path.ending(thread, front, code, parameters, now)
    }

    /// The cycle in which prediction goes on to be ahead.
    #[inline]
    pub(crate) fn next_prediction(&self) -> Option<u64> {
        self.path.next_event()
    }

    /// Prediction is where fetch is at cycle `now`, unless it is ahead.
    pub(crate) fn catch_up(&mut self, now: u64) {
        self.path.catch_up(now);
    }

    /// Line that it waits for, if a sibling evicted that.
    pub(crate) fn evicted(&self, now: u64) -> Option<SiblingEviction> {
        let (until, evicted) = self.evicted;
        let begin = until.saturating_sub(evicted.cycles.into());
        let is_late = evicted.cycles > 0 && begin <= now && now < until + DECODED;
        is_late.then_some(evicted)
    }

    pub(crate) fn was_kept_out(&self) -> bool {
        self.was_kept_out
    }

    /// True if what is renamed next lies after a wrongly predicted branch, and has not been fetched yet.
    pub(crate) fn recovers(&self, now: u64) -> bool {
        self.awaits_branch || now < self.refilled
    }

    /// True if everything that is renamed now lies on a wrong path.
    pub(crate) fn renames_wrong_path(&self) -> bool {
        self.awaits_branch && self.branch.is_some()
    }

    /// The mispredicted branch is executed: fetch goes on rightly at cycle `at`.
    pub(crate) fn redirect(&mut self, at: u64) {
        (self.awaits_branch, self.branch) = (false, None);
        self.restart();
        self.resume = at;
        self.path.redirect(at);
        // What is fetched then can be renamed in the next cycle.
        self.refilled = at + 1;
    }

    /// Reason for which it waits, in words.
    pub(crate) fn waits_for(&self, now: u64) -> String {
        if self.path.waits() {
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

    /// True if this micro-op decides where to go on; if so, it is going to be another one.
    pub(crate) fn await_again(&mut self, sequence: u64) -> bool {
        let is_it = self.branch == Some(sequence);
        if is_it {
            self.branch = None;
        }
        is_it
    }

    /// Goes to the following step; `is_followed` says whether wrong paths are followed, which may come back here.
    pub(crate) fn advance(&mut self, is_followed: bool) {
        self.path.advance();
        if let Some(Place { step, values, .. }) = self.path.current.filter(|_| is_followed) {
            self.visited.visit(step, values);
        }
    }

    /// Predicts ends of steps ahead of fetch, and asks for their lines. Returns whether anything was predicted.
    pub(crate) fn predict_ahead(
        &mut self,
        thread: usize,
        front: &mut Front,
        blocks: &[DecodedBlock],
        parameters: &Parameters,
        code: &mut Code<'_>,
    ) -> bool {
        let mut is_any = false;
        while self.path.next_event().is_some_and(|free| free <= code.now)
            && self.path.predict(thread, front, blocks, parameters, code.now).is_some()
        {
            is_any = true;
            self.path.ask_ahead(front, blocks, code);
        }
        is_any
    }

    /// A synchronisation point is passed: fetch goes on at cycle `from`.
    pub(crate) fn pass(&mut self, from: u64) {
        self.path.pass();
        self.resume = from;
    }

    /// True if it can fetch in this cycle. A sibling's microprogram may have kept it back.
    pub(crate) fn may_fetch(&mut self, thread: usize, front: &Front, now: u64) -> bool {
        if self.awaits_branch {
            return false;
        }
        self.resume = self.resume.max(front.microcode.until(thread));
        self.resume <= now && self.path.current.is_some()
    }

    /// From when on it fetches again.
    pub(crate) fn resumes(&self) -> u64 {
        self.resume
    }

    /// Notes whether a sibling used the front end when this thread could have.
    pub(crate) fn set_kept_out(&mut self, was_kept_out: bool) {
        self.was_kept_out = was_kept_out;
    }

    /// The micro-op of the mispredicted branch that it waits for, once that is renamed.
    pub(crate) fn awaited_branch(&self) -> Option<u64> {
        self.branch.filter(|_| self.awaits_branch)
    }

    /// Nothing is in flight any more: no branch is waited for, and prediction is where fetch is unless it is ahead.
    pub(crate) fn drain(&mut self, now: u64) {
        (self.awaits_branch, self.branch) = (false, None);
        self.path.catch_up(now);
    }

    /// The instructions of the step that is being fetched which are still to come.
    pub(crate) fn rest_of_step<'c>(&self, code: &'c [DecodedBlock]) -> Option<RestOfStep<'c>> {
        let Place { step, instruction: first, values, .. } = self.path.current?;
        let block = &code[step.block as usize];
        let outlines = block.outlines();
        let end = (step.executed as usize).min(outlines.len());
        let outlines = outlines.get(first as usize..end).unwrap_or_default();
        let (number, address, line) = (step.block, step.address, self.line);
        Some(RestOfStep { block, number, address, first, outlines, values, line })
    }

    /// Fetch was in this line last.
    pub(crate) fn skip_to(&mut self, line: u64) {
        self.line = line;
    }

    /// Refetches from cycle `now` on, with the line of the next instruction.
    pub(crate) fn refetch(&mut self, requester: Requester, front: &mut Front, now: u64) {
        self.jump(requester, front);
        self.restart();
        (self.line, self.resume) = (u64::MAX, now);
    }

    /// Discards what was fetched or is being decoded after the last instruction.
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
        if self.path.waits() {
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
