//! Structures of the front end: those of its model, its bandwidth in a cycle, and its requests for code.

use std::ops::RangeInclusive;

use crate::frontend::branch::Predictor;
use crate::frontend::microcode::Sequencer;
use crate::frontend::op_cache::{OpCache, Reading};
use crate::frontend::predecoder::Claims;
use crate::memory::{Memory, Reply, Request};
use crate::sharing::{Requester, ThreadShared};
use crate::uops::DecodedBlock;
use corun_model::{CoreModel, Decoder, Fetch, LINE, Policy};

/// Bandwidth left in one cycle of the front end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Of the op cache: micro-ops that it gave, how many it can give, and its lines.
    pub(crate) uops: u32,
    pub(crate) width: u32,
    pub(crate) lines: u32,
    /// The window of code of the first of them.
    pub(crate) window: Option<u64>,
    /// True if the op cache's budget of a cycle is not divided among threads.
    pub(crate) is_whole: bool,
    /// Slots of the thread's queue that are taken when the cycle begins.
    pub(crate) waiting: u32,
    /// Micro-ops that the thread's loop buffer gave.
    pub(crate) looped: u32,
    /// Of the decoders: instructions that they still take, and micro-ops that they made.
    pub(crate) instructions: u32,
    pub(crate) decoded: u32,
    /// Bytes of a fetch, as long as none was made, and always.
    pub(crate) bytes: u32,
    pub(crate) each_fetch: u32,
    /// True if nothing was taken from it yet.
    pub(crate) is_first: bool,
}

impl Budget {
    /// Micro-ops of the op cache with so many more of the line that is read, if that fits into this cycle. An
    /// instruction alone always fits, and so do all micro-ops of a further read of a window.
    pub(crate) fn given_with(&self, uops: u32, reading: &Reading) -> Option<u32> {
        let counted = if reading.is_further { 0 } else { uops };
        let given = self.uops + counted;
        let is_too_much = given > self.width && (self.uops > 0 || self.width == 0);
        (!is_too_much).then_some(given)
    }

    /// Slots that a wrong path can take.
    pub(super) fn wrong_path(&self, has_op_cache: bool) -> u32 {
        match has_op_cache {
            true if self.lines == 0 => 0,
            true => self.width.saturating_sub(self.uops),
            false => self.instructions,
        }
    }

    /// A wrong path took so many slots.
    pub(super) fn take_wrong_path(&mut self, slots: u32) {
        if slots > 0 {
            self.uops += slots;
            self.lines = self.lines.saturating_sub(1);
            self.instructions = self.instructions.saturating_sub(slots);
        }
    }
}

/// Sources of a thread's code in the front end.
pub(crate) struct Code<'m> {
    pub(crate) memory: &'m mut Memory,
    pub(crate) request: Request,
    pub(crate) now: u64,
}

impl Code<'_> {
    /// The line of a linear address, and when it can be decoded. The line after it is asked for, too.
    pub(crate) fn line(&mut self, linear: u64) -> Reply {
        let request = Request { linear, ..self.request };
        let reply = self.memory.fetch(request, self.now);
        let next = linear.wrapping_add(LINE.into());
        if next >> 12 == linear >> 12 {
            self.memory.fetch_ahead(Request { linear: next, ..request }, self.now);
        }
        reply
    }
}

/// The front end that the threads of a core share.
#[derive(Debug)]
pub(crate) struct Front {
    pub(super) fetch: Fetch,
    /// Micro-ops a cycle of a loop that is held in the queue.
    pub(super) looping: u32,
    pub(super) decoder: Decoder,
    pub(super) op_cache: Option<corun_model::OpCache>,
    /// The op cache.
    pub(super) decoded: Option<ThreadShared<OpCache>>,
    pub(super) claims: Claims,
    /// Cycles lost on the way to a microprogram, where it takes any.
    pub(super) from_decoders: Option<u32>,
    pub(super) microcode: Sequencer,
    pub(super) predictor: Predictor,
}

impl Front {
    /// Of a core with so many threads.
    pub(crate) fn of(model: &CoreModel, threads: usize) -> Self {
        let front = &model.front;
        let decoded = front.op_cache.as_ref().map(|cache| {
            ThreadShared::new(cache.sharing.policy, threads, |parts| OpCache::new(cache, parts))
        });
        Self {
            decoded,
            claims: Claims::of(model, threads),
            fetch: front.fetch.clone(),
            looping: model.back.dispatch.entries,
            decoder: front.decoder.clone(),
            op_cache: front.op_cache.clone(),
            from_decoders: front.microcode.from_decoders,
            microcode: Sequencer::new(&front.microcode, threads),
            predictor: Predictor::new(&front.prediction),
        }
    }

    /// From now on the thread runs a process whose addresses are distinguished by `space`.
    pub(crate) fn enter(&mut self, thread: usize, space: u64) {
        self.predictor.enter(thread, space);
    }

    /// Each thread reads lines of an op cache of its own.
    pub(crate) fn has_own_op_caches(&self) -> bool {
        self.op_cache.as_ref().is_some_and(|cache| cache.sharing.policy == Policy::Replicated)
    }

    /// The op cache has the micro-ops of a linear address.
    pub(super) fn holds(&mut self, request: Request) -> bool {
        let space = request.pages.space() & !0xfff;
        let cache = self.decoded.as_mut();
        cache.is_some_and(|cache| cache.of(request.requester).holds(request.linear ^ space))
    }

    /// Asks for the lines of a block that lies at an address, unless the op cache has its beginning. Returns when the last
    /// one is there.
    pub(super) fn fetch_lines(
        &mut self,
        block: &DecodedBlock,
        address: u64,
        code: &mut Code<'_>,
    ) -> u64 {
        let Code { memory, request, now } = code;
        if self.holds(Request { linear: address, ..*request }) {
            return *now;
        }
        let of_line = |line| Request { linear: line * u64::from(LINE), ..*request };
        let lines = lines_of_code(block, address);
        lines.map(|line| memory.fetch(of_line(line), *now).ready).max().unwrap_or(*now)
    }

    /// Continuation of a trace cache's line after a branch to this address.
    pub(crate) fn go_on(
        &mut self,
        reading: Reading,
        address: u64,
        space: u64,
        requester: Requester,
    ) -> Option<Reading> {
        let is_trace = self.op_cache.as_ref().is_some_and(|cache| cache.trace_cache);
        let cache = self.decoded.as_mut().filter(|_| is_trace)?;
        let reading = cache.of(requester).go_on(reading, address ^ space)?;
        Some(reading.at(reading.end ^ space))
    }

    /// Bandwidth of a cycle: one of so many parts of what is fetched, of what the op cache gives, and of what is
    /// decoded.
    pub(crate) fn budget(&self, fetched: u32, read: u32, decoded: u32) -> Budget {
        let op_cache = self.op_cache.as_ref();
        // A division takes long, and most threads have all of it.
        let part = |of: u32, parts: u32| if parts == 1 { of } else { of.div_ceil(parts) };
        let bytes = if fetched == 1 { self.fetch.bytes } else { self.fetch.bytes / fetched };
        Budget {
            uops: 0,
            width: op_cache.map_or(0, |cache| part(cache.width, read)),
            lines: op_cache.map_or(0, |cache| part(cache.lines, read)),
            window: None,
            is_whole: read == 1,
            waiting: 0,
            looped: 0,
            instructions: part(self.decoder.width, decoded),
            decoded: 0,
            bytes: bytes.max(1),
            each_fetch: bytes.max(1),
            is_first: true,
        }
    }
}

/// The numbers of the lines that a block lies in.
pub(super) fn lines_of_code(block: &DecodedBlock, address: u64) -> RangeInclusive<u64> {
    address / u64::from(LINE)..=address.wrapping_add(block.bytes() - 1) / u64::from(LINE)
}
