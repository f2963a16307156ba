//! What the front end has of a model, what it can do in a cycle, and how it asks memory for code.

use crate::core::microcode::Sequencer;
use crate::core::op_cache::{OpCache, Reading};
use crate::core::predecoder::Claims;
use crate::divided::{Divided, User};
use crate::memory::{Memory, Reply, Request};
use corun_model::{CoreModel, Decoder, Fetch, LINE};

/// What one cycle of the front end can still bring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Of the op cache: operations that it gave, how many it can give, and its lines.
    pub(super) operations: u32,
    pub(super) width: u32,
    pub(super) lines: u32,
    /// The window of code of the first of them.
    pub(super) window: Option<u64>,
    /// Operations that the thread's loop buffer gave.
    pub(super) looped: u32,
    /// Of the decoders: instructions that they still take, and operations that they made.
    pub(super) instructions: u32,
    pub(super) decoded: u32,
    /// Bytes of a fetch, as long as none was made, and always.
    pub(super) bytes: u32,
    pub(super) each_fetch: u32,
    /// Whether nothing was taken from it yet.
    pub(super) is_first: bool,
}

/// Where the front end gets a thread's code from.
pub(super) struct Code<'m> {
    pub(super) memory: &'m mut Memory,
    pub(super) request: Request,
    pub(super) now: u64,
}

impl Code<'_> {
    /// The line of a linear address, and when it can be decoded. The line behind it is asked for, too.
    pub(super) fn line(&mut self, linear: u64) -> Reply {
        let request = Request { linear, ..self.request };
        let reply = self.memory.fetch(request, self.now);
        let next = linear.wrapping_add(LINE.into());
        if next >> 12 == linear >> 12 {
            self.memory.fetch_ahead(Request { linear: next, ..request }, self.now);
        }
        reply
    }
}

/// What the front end asks of the model.
#[derive(Debug)]
pub(in crate::core) struct Front {
    pub(super) fetch: Fetch,
    /// Operations a cycle of a loop that is held in the queue.
    pub(super) looping: u32,
    pub(super) decoder: Decoder,
    pub(super) op_cache: Option<corun_model::OpCache>,
    /// What it holds.
    pub(super) decoded: Option<Divided<OpCache>>,
    pub(super) claims: Claims,
    /// Cycles lost on the way to a microprogram, where it takes any.
    pub(super) from_decoders: Option<u32>,
    pub(super) microcode: Sequencer,
}

impl Front {
    /// Of a core with so many threads.
    pub(in crate::core) fn of(model: &CoreModel, threads: usize) -> Self {
        let front = &model.front;
        let decoded = front.op_cache.as_ref().map(|cache| {
            Divided::new(cache.sharing.policy, threads, |parts| OpCache::new(cache, parts))
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
        }
    }

    /// What a trace cache's line goes on with behind a branch to this address.
    pub(super) fn go_on(
        &mut self,
        reading: Reading,
        address: u64,
        space: u64,
        user: User,
    ) -> Option<Reading> {
        let is_trace = self.op_cache.as_ref().is_some_and(|cache| cache.traces);
        let cache = self.decoded.as_mut().filter(|_| is_trace)?;
        let reading = cache.of(user).go_on(reading, address ^ space)?;
        Some(reading.at(reading.end ^ space))
    }

    /// What a cycle can bring: one of so many parts of what is fetched, and of what is decoded.
    pub(super) fn budget(&self, fetched: u32, decoded: u32) -> Budget {
        let op_cache = self.op_cache.as_ref();
        Budget {
            operations: 0,
            width: op_cache.map_or(0, |cache| cache.width.div_ceil(fetched)),
            lines: op_cache.map_or(0, |cache| cache.lines.div_ceil(fetched)),
            window: None,
            looped: 0,
            instructions: self.decoder.width.div_ceil(decoded),
            decoded: 0,
            bytes: (self.fetch.bytes / fetched).max(1),
            each_fetch: (self.fetch.bytes / fetched).max(1),
            is_first: true,
        }
    }
}
