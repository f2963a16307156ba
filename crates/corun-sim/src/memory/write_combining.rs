//! Stores past the caches (`movnt`): a line is gathered in a buffer and goes to memory, and no cache has it any more.
//!
//! After Intel, Software Developer's Manual 3A, 13.3.1, and AMD, Software Optimization Guides, "write combining".

use crate::memory::{LINE_SHIFT, Memory, Origin, Reply, Request, SiblingEviction};
use corun_model::LINE;

impl Memory {
    /// Translation of a store past the caches: its page is known, and nothing is asked for.
    pub(crate) fn locate(&mut self, request: Request, now: u64) -> Reply {
        let translation = self.translate(&request, false, now);
        let evicted = SiblingEviction::default();
        Reply { ready: now + translation, translation, origin: Origin::L1, evicted }
    }

    /// A store past the caches: when there is a buffer for its line, which memory takes then.
    pub(crate) fn stream(&mut self, request: Request, now: u64) -> Reply {
        let mut reply = self.locate(request, now);
        let core = request.core;
        let line = request.pages.physical(request.linear) >> LINE_SHIFT;
        let own = &mut self.cores[core];
        if own.write_buffers.gathers(line, request.linear % u64::from(LINE)) {
            return reply;
        }
        // Whatever leaves the second level is among its misses until memory has it.
        let buffer = own.write_buffers.free(reply.ready);
        let begin = own.l2_misses.of(request.requester).free(buffer);
        for cache in own.l1d.each().chain(own.l2.each()).chain(own.l1i.each()) {
            cache.remove(line);
        }
        self.invalidate_others(core, line, begin);
        let taken = self.group(core).write_past(line, begin) + self.latencies.l3;
        let own = &mut self.cores[core];
        own.write_buffers.take(taken);
        own.l2_misses.of(request.requester).take(taken + self.latencies.write);
        reply.ready = begin;
        reply
    }
}

#[cfg(test)]
mod tests {
    use corun_record::PageSize;

    use crate::memory::{Memory, Origin, Pages, Request};
    use crate::sharing::Requester;

    fn request(core: usize, linear: u64) -> Request {
        let pages = Pages::of(0, 1, PageSize::Huge);
        Request { core, requester: Requester::ALONE, instruction: 1, linear, pages }
    }

    #[test]
    fn a_line_is_gathered_once_and_is_in_no_cache_then() {
        for asks in [0, 1] {
            let mut memory = Memory::new(&corun_model::find("zen4").unwrap(), &[1, 1]);
            let begin = memory.load(request(0, 0x1000), 0).ready;
            let begin = memory.load(request(1, 0x1000), begin).ready;
            for offset in [0, 16, 32, 48] {
                assert_eq!(memory.stream(request(0, 0x1000 + offset), begin).ready, begin);
            }
            let reply = memory.load(request(asks, 0x1000), begin + 1000);
            assert_eq!(reply.origin, Origin::Main, "{asks} {reply:?}");
        }
    }

    #[test]
    fn a_line_that_was_full_is_gathered_again() {
        let model = corun_model::find("zen4").unwrap();
        let mut memory = Memory::new(&model, &[1]);
        let begin = memory.locate(request(0, 0), 0).ready;
        let last = (0..100).fold(begin, |now, _| memory.stream(request(0, 0x1000), now).ready);
        let line = 64.0 / model.hierarchy.main.gigabytes_a_second * model.gigahertz;
        assert!((last - begin) as f64 > 80.0 * line, "{last} {begin}");
    }

    #[test]
    fn lines_go_to_memory_as_fast_as_it_takes_them() {
        let model = corun_model::find("zen4").unwrap();
        let mut memory = Memory::new(&model, &[1]);
        let mut now = memory.locate(request(0, 0), 0).ready;
        let begin = now;
        for line in 0..2000 {
            now = memory.stream(request(0, line * 64), now).ready;
        }
        let main = &model.hierarchy.main;
        let expected = 64.0 / main.gigabytes_a_second * model.gigahertz;
        let found = (now - begin) as f64 / 2000.0;
        assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
        // Loads have their own way.
        let load = memory.load(request(0, 1 << 20), now);
        assert!(load.ready < now + 1000, "{load:?} {now}");
    }
}
