//! The first level of instructions.

use crate::memory::cache::State;
use crate::memory::l2::Fill;
use crate::memory::line::Line;
use crate::memory::{Access, LINE_SHIFT, Memory, Origin, Reply, Request, SiblingEviction};
use crate::sharing::Requester;

impl Memory {
    /// An instruction fetch: its line can be decoded when the reply is ready.
    pub(crate) fn fetch(&mut self, request: Request, now: u64) -> Reply {
        let translation = self.translate(&request, true, now);
        let start = now + translation;
        let Request { core: number, requester, .. } = request;
        let line = request.pages.code(request.linear) >> LINE_SHIFT;
        let core = &mut self.cores[number];
        if let Some(held) = core.l1i.of(requester).find(line) {
            let ready = held.ready.max(start);
            let evicted = SiblingEviction::of(held.was_evicted, ready - start, 0);
            return Reply { ready, translation, origin: Origin::L1, evicted };
        }
        core.counts(requester).l1i_misses += 1;
        let is_evicted = core.l1i.of(requester).was_evicted(line, requester.thread);
        let Fill { ready, origin, evicted, .. } = self.fill_l1i(number, requester, line, start);
        self.cores[number].note_origin(requester, origin);
        let evicted = SiblingEviction::of(is_evicted, ready - start, evicted);
        Reply { ready, translation, origin, evicted }
    }

    /// Prefetches a line of code, unless it is there.
    pub(crate) fn fetch_ahead(&mut self, request: Request, now: u64) {
        let Request { core, requester, pages, linear, .. } = request;
        let line = pages.code(linear) >> LINE_SHIFT;
        if self.cores[core].l1i.of(requester).peek(line).is_none() {
            self.fill_l1i(core, requester, line, now);
        }
    }

    fn fill_l1i(&mut self, core: usize, requester: Requester, line: Line, now: u64) -> Fill {
        let access = Access { core, requester, line, is_write: false };
        let found = self.access_l2(access, now, self.latencies.code);
        let l1i = self.cores[core].l1i.of(requester);
        l1i.insert(line, found.ready, State::Shared, requester.thread);
        found
    }
}
