//! Translations of requests, and the page walks of those that no TLB has.

use crate::memory::tlb::TlbLookup;
use crate::memory::{Access, LINE_SHIFT, Memory, Request};
use corun_model::WalkCache;

impl Memory {
    /// Forgets the translations of data in a core's first level, but for those that are requested.
    pub(crate) fn forget_translations(&mut self, core: usize, but: impl Iterator<Item = Request>) {
        let translations = &mut self.cores[core].translations;
        translations.forget_data();
        for Request { requester, pages, linear, .. } in but {
            translations.find(requester, pages.page(linear, false));
        }
    }

    /// Cycles until the page of a request is known.
    pub(super) fn translate(&mut self, request: &Request, is_code: bool, now: u64) -> u64 {
        let own = &mut self.cores[request.core];
        let requester = request.requester;
        let translations = &mut own.translations;
        let miss = if is_code { translations.code_miss } else { translations.data_miss };
        let nested = translations.nested;
        let pages = if is_code { request.pages.in_small() } else { request.pages };
        let above = match translations.find(requester, pages.page(request.linear, is_code)) {
            TlbLookup::First => return 0,
            TlbLookup::Second => return miss,
            TlbLookup::Walk(above) => above,
        };
        let begin = translations.walkers.of(requester).free(now + miss);
        let mut at = begin + translations.walk;
        own.counts(requester).walks += 1;
        // The entry of the level above lies 512 times as close to its neighbours.
        let entry = pages.entry(request.linear);
        let levels = [entry >> 9 & !7 | 1 << 60, entry];
        let mut read = |entry: u64| {
            let line = entry >> LINE_SHIFT;
            let access = Access { core: request.core, requester, line, is_write: false };
            at = self.read_entry(access, at);
        };
        levels[1 - above.min(1) as usize..].iter().for_each(|entry| read(*entry));
        (0..nested).for_each(|_| read(pages.host_entry(request.linear)));
        self.cores[request.core].translations.walkers.of(requester).take(at);
        at - now
    }

    /// The cycle in which a page walk has an entry of the tables.
    fn read_entry(&mut self, access: Access, now: u64) -> u64 {
        let (own, latencies) = (&mut self.cores[access.core], self.latencies);
        if latencies.walk_begins == WalkCache::L2 {
            return self.access_l2(access, now, latencies.l2).ready;
        }
        let latency = own.l1d_latency;
        latency
            + match own.l1d.of(access.requester).find(access.line) {
                Some(held) => held.ready.max(now),
                None => self.fill_l1d(access, now).ready,
            }
    }
}
