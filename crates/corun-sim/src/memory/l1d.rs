//! The first level of data: loads, reads for ownership, and the MSHRs of its misses.

use crate::memory::cache::{CacheLine, Evicted, State};
use crate::memory::l2::Fill;
use crate::memory::line::Line;
use crate::memory::{
    Access, LINE_SHIFT, LINES_OF_A_PAGE, Memory, Origin, Reply, Request, SiblingEviction,
};
use crate::sharing::Requester;

impl Memory {
    /// True if an MSHR is free.
    #[inline]
    pub(crate) fn has_free_mshr(&mut self, core: usize, requester: Requester, now: u64) -> bool {
        !self.cores[core].mshrs.of(requester).are_full(now)
    }

    /// A load is accepted if it hits, or if an MSHR is free.
    ///
    /// Errors: the cycle in which an MSHR is free.
    #[inline]
    pub(crate) fn can_accept_load(&mut self, request: Request, now: u64) -> Result<(), u64> {
        let own = &mut self.cores[request.core];
        let mshrs = own.mshrs.of(request.requester);
        if !mshrs.are_full(now) {
            return Ok(());
        }
        let free = mshrs.free(now);
        let line = request.pages.physical(request.linear) >> LINE_SHIFT;
        let is_hit = own.l1d.of(request.requester).peek(line).is_some();
        if is_hit { Ok(()) } else { Err(free) }
    }

    /// A load.
    pub(crate) fn load(&mut self, request: Request, now: u64) -> Reply {
        self.demand_access(request, false, now)
    }

    /// A read for ownership: afterwards no other core has the line.
    pub(crate) fn read_for_ownership(&mut self, request: Request, now: u64) -> Reply {
        self.demand_access(request, true, now)
    }

    /// The cycle in which a line that was [read for ownership](Self::read_for_ownership) can be written; none if the core
    /// has lost it, and must read it again.
    pub(crate) fn owned(&mut self, request: Request, now: u64) -> Option<u64> {
        let physical = request.pages.physical(request.linear);
        let l1d = self.cores[request.core].l1d.of(request.requester);
        let held = l1d.find(physical >> LINE_SHIFT)?;
        if held.state == State::Shared || held.until <= now.max(held.ready) {
            return None;
        }
        held.state = State::Modified;
        Some(held.ready)
    }

    fn demand_access(&mut self, request: Request, is_write: bool, now: u64) -> Reply {
        let reply = match self.recall_hit(&request, is_write, now) {
            Some(reply) => reply,
            None => self.access_l1d(request, is_write, now),
        };
        let is_new = reply.origin != Origin::L1;
        let instruction = (!is_write).then_some(request.instruction);
        let prefetchers = self.cores[request.core].prefetchers.of(request.requester);
        if let Some(ahead) = prefetchers.follow(instruction, request.linear, is_new) {
            self.prefetch(request, &ahead, now + reply.translation);
        }
        reply
    }

    /// The reply for a line that was accessed lately and is still in the first level.
    #[inline]
    fn recall_hit(&mut self, request: &Request, is_write: bool, now: u64) -> Option<Reply> {
        let serves = |held: &CacheLine| held.serves(is_write, now);
        let held = self.cores[request.core].find_again(request, serves)?;
        Some(Self::hit(held, is_write, (now, 0)))
    }

    /// The reply for a line that the first level has at cycle `start`, which is after the translation.
    #[inline]
    fn hit(held: &mut CacheLine, is_write: bool, (start, translation): (u64, u64)) -> Reply {
        if is_write {
            held.state = State::Modified;
        }
        let ready = held.ready.max(start);
        let evicted = SiblingEviction::of(held.was_evicted, ready - start, 0);
        Reply { ready, translation, origin: Origin::L1, evicted }
    }

    fn access_l1d(&mut self, request: Request, is_write: bool, now: u64) -> Reply {
        let translation = self.translate(&request, false, now);
        let start = now + translation;
        let physical = request.pages.physical(request.linear);
        let line = physical >> LINE_SHIFT;
        let Request { core: number, requester, .. } = request;
        self.evict_alias(request, line, start);
        let core = &mut self.cores[number];
        match core.l1d.of(requester).find(line) {
            Some(held) if held.serves(is_write, start) => {
                let reply = Self::hit(held, is_write, (start, translation));
                if translation == 0 && core.aliases.of(requester).is_none() {
                    core.note_found(&request, line);
                }
                reply
            }
            _ => {
                core.counts(requester).l1d_misses += 1;
                let is_evicted = core.l1d.of(requester).was_evicted(line, requester.thread);
                let begin = core.fill_conflict.begin(line, core.mshrs.of(requester).free(start));
                let access = Access { core: number, requester, line, is_write };
                let Fill { ready, origin, evicted, .. } = self.fill_l1d(access, begin);
                self.cores[number].note_origin(requester, origin);
                let evicted = SiblingEviction::of(is_evicted, ready - start, evicted);
                self.cores[number].mshrs.of(requester).take(ready);
                if self.cores[number].next_line && !(line + 1).is_multiple_of(LINES_OF_A_PAGE) {
                    self.prefetch_l1d(access.read(line + 1), begin);
                }
                Reply { ready, translation, origin, evicted }
            }
        }
    }

    /// Evicts the line that the first level cannot hold beside the accessed one.
    fn evict_alias(&mut self, request: Request, line: Line, now: u64) {
        let Request { core, requester, linear, .. } = request;
        let own = &mut self.cores[core];
        let Some(aliases) = own.aliases.of(requester) else { return };
        let Some(alias) = aliases.replace(linear, line) else { return };
        let evicted = own.l1d.of(requester).evict(alias, requester.thread);
        self.write_back(core, requester, evicted, now);
    }

    /// Prefetches a line into the first level, unless it is there; false if no MSHR is free.
    pub(super) fn prefetch_l1d(&mut self, access: Access, now: u64) -> bool {
        let Access { core, requester, line, .. } = access;
        let own = &mut self.cores[core];
        if own.l1d.of(requester).peek(line).is_some() {
            return true;
        }
        if own.mshrs.of(requester).are_full(now) {
            return false;
        }
        own.counts(requester).prefetches += 1;
        let ready = self.fill_l1d(access, now).ready;
        self.cores[core].mshrs.of(requester).take(ready);
        true
    }

    /// Fills a line into the first level.
    pub(super) fn fill_l1d(&mut self, access: Access, now: u64) -> Fill {
        let Access { core, requester, line, is_write } = access;
        let found = self.access_l2(access, now, self.latencies.l2);
        let state = if is_write { State::Modified } else { found.state };
        let own = &mut self.cores[core];
        own.fill_conflict.fill(line, found.ready + own.l1d_latency);
        let evicted = own.l1d.of(requester).insert(line, found.ready, state, requester.thread);
        self.write_back(core, requester, evicted, now);
        found
    }

    /// Writes a modified line that leaves the first level back to the second.
    fn write_back(
        &mut self,
        core: usize,
        requester: Requester,
        evicted: Option<Evicted>,
        now: u64,
    ) {
        let Some(Evicted { line, state: State::Modified }) = evicted else { return };
        match self.cores[core].l2.of(requester).peek(line) {
            Some(held) => held.state = State::Modified,
            None => self.fill_l2(core, requester, line, now, State::Modified),
        }
    }
}
