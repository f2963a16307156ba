//! Prefetches along linear addresses, as the first levels have MSHRs for them.

use crate::memory::pages::PAGE_SHIFT;
use crate::memory::prefetch::{Ahead, Level};
use crate::memory::{Access, LINE_SHIFT, Memory, Request};

impl Memory {
    /// Prefetches the places ahead of a request, up to the first for which no MSHR is free.
    pub(in crate::memory) fn prefetch(&mut self, request: Request, ahead: &Ahead, now: u64) {
        let Request { core, requester, pages, .. } = request;
        // Where all pages are one, there are none but those that are requested.
        let is_there = |linear: &u64| {
            !pages.are_one() || *linear >> PAGE_SHIFT == request.linear >> PAGE_SHIFT
        };
        for (steps, level) in ahead.steps.iter().zip([Level::First, Level::Second]) {
            for step in steps.clone() {
                let is_prefetched = ahead.at(step).filter(is_there).is_some_and(|linear| {
                    let start = now + self.translate(&Request { linear, ..request }, false, now);
                    let line = pages.physical(linear) >> LINE_SHIFT;
                    let access = Access { core, requester, line, is_write: false };
                    match level {
                        Level::First => self.prefetch_l1d(access, start),
                        Level::Second => self.prefetch_l2(access, start),
                    }
                });
                if !is_prefetched {
                    // Later, when there is a buffer.
                    self.cores[core].prefetchers.of(requester).stop_before(level, step);
                    break;
                }
            }
        }
    }
}
