//! The second level: misses of the first levels and of page walks, and prefetches.

use crate::memory::cache::State;
use crate::memory::line::Line;
use crate::memory::{Access, Memory, Origin};
use crate::sharing::Requester;
use corun_model::Holds;

/// A line on its way to a first level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    pub(super) ready: u64,
    pub(super) origin: Origin,
    pub(super) state: State,
    /// Cycles that the second level would have spared if a sibling had not evicted the line there.
    pub(super) evicted: u64,
}

impl Memory {
    /// Accesses the second level at cycle `now`, and what lies behind it on a miss.
    pub(super) fn access_l2(&mut self, access: Access, now: u64, to_l2: u64) -> Fill {
        let Access { core, requester, line, is_write } = access;
        let own = &mut self.cores[core];
        let stream = own.prefetchers.of(requester).stream(line);
        let start = own.l2_link.of(requester).take(now);
        let l2 = own.l2.of(requester);
        let found = l2.find_or_recognise(line, requester.thread).map(|held| *held);
        let (ready, origin, state, was_evicted) = match found {
            Some(held) if held.may_be_copied(is_write) => {
                (held.ready.max(start), Origin::L2, held.kept(), held.was_evicted)
            }
            _ => {
                own.counts(requester).l2_misses += 1;
                let is_evicted = own.l2.of(requester).was_evicted(line, requester.thread);
                let begin = own.l2_misses.of(requester).free(start);
                let (ready, origin, state) = self.access_uncore(access, begin);
                let own = &mut self.cores[core];
                own.l2_misses.of(requester).take(ready);
                if own.adjacent {
                    self.prefetch_l2(access.read(line ^ 1), begin);
                }
                (ready, origin, state, is_evicted)
            }
        };
        for line in stream {
            if !self.prefetch_l2(access.read(line), start) {
                // Later, when there is a buffer.
                self.cores[core].prefetchers.of(requester).stop_stream_before(line);
                break;
            }
        }
        let evicted = if was_evicted { ready - start } else { 0 };
        Fill { ready: ready + to_l2, origin, state, evicted }
    }

    /// Prefetches a line into the second level, unless the core has it; false if no MSHR is free.
    pub(super) fn prefetch_l2(&mut self, access: Access, now: u64) -> bool {
        let Access { core, requester, line, .. } = access;
        let own = &mut self.cores[core];
        if own.l1d.of(requester).peek(line).is_some() || own.l2.of(requester).peek(line).is_some() {
            return true;
        }
        if own.l2_misses.of(requester).are_full(now) {
            return false;
        }
        own.counts(requester).prefetches += 1;
        let (ready, _, _) = self.access_uncore(access, now);
        self.cores[core].l2_misses.of(requester).take(ready);
        true
    }

    /// Fills a line into the second level; the line that it evicts goes to the last level.
    pub(super) fn fill_l2(
        &mut self,
        core: usize,
        requester: Requester,
        line: Line,
        ready: u64,
        state: State,
    ) {
        let evicted =
            self.cores[core].l2.of(requester).insert(line, ready, state, requester.thread);
        let Some(evicted) = evicted else { return };
        if self.holds == Holds::Victims || evicted.state == State::Modified {
            self.fill_l3(core, evicted.line, ready, evicted.state);
        }
    }
}
