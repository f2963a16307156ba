//! Lines that threads touched while nothing was simulated: the caches and TLBs hold it, and nothing is counted or
//! timed.

use corun_model::Holds;
use corun_trace::TouchedLine;

use crate::memory::cache::State;
use crate::memory::line::Line;
use crate::memory::tlb::TlbLookup;
use crate::memory::{LINE_SHIFT, Memory, Request};
use crate::sharing::Requester;

impl Memory {
    /// Lines that the second level of a core and its last level hold together.
    pub(crate) fn lines(&mut self, core: usize) -> usize {
        let second: usize = self.cores[core].l2.each().map(|l2| l2.size()).sum();
        second + self.group(core).l3().map_or(0, |l3| l3.size())
    }

    /// A thread touched a line while nothing was simulated: it is in the second level now, and its page has a translation.
    /// Nothing is counted, and nobody waits.
    pub(crate) fn touch(&mut self, request: Request, touched: TouchedLine, now: u64) {
        let Request { core, requester, pages, .. } = request;
        let (linear, is_code) = (touched.address(), touched.is_code());
        let of_its_kind = if is_code { pages.in_small() } else { pages };
        let page = of_its_kind.page(linear, is_code);
        if let TlbLookup::Walk(_) = self.cores[core].translations.find(requester, page) {
            let entry = of_its_kind.entry(linear);
            self.touch_line(core, requester, entry >> LINE_SHIFT, State::Exclusive, now);
        }
        let physical = if is_code { pages.code(linear) } else { pages.physical(linear) };
        let state = if touched.is_written() { State::Modified } else { State::Exclusive };
        self.touch_line(core, requester, physical >> LINE_SHIFT, state, now);
    }

    fn touch_line(
        &mut self,
        core: usize,
        requester: Requester,
        line: Line,
        state: State,
        now: u64,
    ) {
        if let Some(held) = self.cores[core].l2.of(requester).find(line) {
            held.state = held.state.max(state);
            return;
        }
        self.insert_background_fills(core, line, now);
        let is_in_last = self.group(core).l3().is_some_and(|l3| l3.find(line).is_some());
        if !is_in_last && self.holds == Holds::Inclusive {
            self.fill_l3(core, line, now, State::Exclusive);
        }
        self.fill_l2(core, requester, line, now, state);
    }
}
