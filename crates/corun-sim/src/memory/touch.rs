//! What threads touched while nothing was simulated: the caches and TLBs hold it, and nothing is counted or timed.

use corun_model::Holds;
use corun_trace::TouchedLine;

use super::cache::{Cache, Line, State};
use super::tlb::Found;
use super::{LINE_SHIFT, Memory, Request};
use crate::sharing::Requester;

impl Memory {
    /// Lines that the second level of a core and its last level hold together.
    pub(crate) fn lines(&mut self, core: usize) -> usize {
        let second: usize = self.cores[core].l2.each().map(|l2| l2.size()).sum();
        let last = self.groups[core / self.group_size].l3.as_ref();
        second + last.map_or(0, Cache::size)
    }

    /// A thread touched a line while nothing was simulated: it is in the second level now, and its page has a translation.
    /// Nothing is counted, and nobody waits.
    pub(crate) fn touch(&mut self, request: Request, touched: TouchedLine, now: u64) {
        let Request { core, requester, pages, .. } = request;
        let (linear, is_code) = (touched.address(), touched.is_code());
        let of_its_kind = if is_code { pages.in_small() } else { pages };
        let page = of_its_kind.page(linear, is_code);
        if let Found::Walk(_) = self.cores[core].translations.find(requester, page) {
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
        self.let_background_fills_in(core, line, now);
        let last = self.groups[core / self.group_size].l3.as_mut();
        let is_in_last = last.is_some_and(|l3| l3.find(line).is_some());
        if !is_in_last && self.holds == Holds::Inclusive {
            self.fill_l3(core, line, now, State::Exclusive);
        }
        self.fill_l2(core, requester, line, now, state);
    }
}
