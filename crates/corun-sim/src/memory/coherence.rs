//! Coherence: lines that cores take from each other, and what a snoop and a transfer cost.

use crate::memory::cache::{CacheLine, State};
use crate::memory::directory::Directory;
use crate::memory::line::Line;
use crate::memory::private::Private;
use crate::memory::{LINE_SHIFT, Memory, Request};
use corun_model::Holds;

/// Transfer latencies vary by up to one part of so many around their mean.
const TRANSFER_PARTS: u64 = 4;

impl Memory {
    /// A line is contended if it was modified, or going to be, when it last came from another core.
    pub(crate) fn is_contended(&self, request: Request) -> bool {
        self.directory.as_ref().is_some_and(|directory| {
            directory.is_contended(request.pages.physical(request.linear) >> LINE_SHIFT)
        })
    }

    /// True if any line is contended.
    #[inline]
    pub(crate) fn is_any_contended(&self) -> bool {
        self.directory.as_ref().is_some_and(Directory::has_contended)
    }

    /// Lines that other cores took from this one since it was last asked, and when.
    pub(crate) fn taken(&mut self, core: usize) -> Option<&mut Vec<(Line, u64)>> {
        self.directory.as_mut().map(|directory| directory.taken(core))
    }

    /// Takes a line from other cores, or (if it is only read) the right to write it. Returns the cycle
    /// in which it comes from one that has it.
    pub(super) fn snoop(
        &mut self,
        others: u64,
        line: Line,
        is_write: bool,
        now: u64,
    ) -> Option<u64> {
        let transfer = if others == 0 { 0 } else { self.next_transfer() };
        let snoop_delay = transfer * self.latencies.snoop_delay / self.latencies.transfer.max(1);
        let mut given = None;
        let mut is_contended = is_write;
        let mut left = others;
        while left != 0 {
            let other = left.trailing_zeros() as usize;
            left &= left - 1;
            let held = self.cores[other].give_up(line, is_write, now, snoop_delay);
            let Some((held, at)) = held else { continue };
            // An inclusive last level has what no core may have changed.
            if self.holds == Holds::Victims || held.state != State::Shared {
                given = given.max(Some(at + transfer.saturating_sub(snoop_delay)));
            }
            is_contended |= held.state == State::Modified;
            // A core that is the first to read what another one changed takes it for a moment, too.
            let is_taken = is_write || held.state == State::Modified && !held.stays;
            if let Some(directory) = self.directory.as_mut().filter(|_| is_taken) {
                directory.taken(other).push((line, at));
            }
        }
        if let Some(directory) = &mut self.directory {
            directory.set_contended(line, is_contended && given.is_some());
        }
        given
    }

    /// Takes a line from all other cores, for a core that stores past the caches.
    pub(super) fn invalidate_others(&mut self, core: usize, line: Line, now: u64) {
        let others = self.directory.as_mut().map_or(0, |it| it.ask(line, core, true));
        if others != 0 {
            self.snoop(others, line, true, now);
        }
    }

    /// Cycles of the next transfer between cores: no two find the links between them alike, and if they
    /// did, cores would fall into step with each other.
    fn next_transfer(&mut self) -> u64 {
        self.transfers = self.transfers.wrapping_add(1);
        let spread = self.latencies.transfer / TRANSFER_PARTS;
        // Multiples of the golden ratio's fraction (Weyl).
        let place = self.transfers.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.latencies.transfer.saturating_sub(spread) + ((place * (2 * spread + 1)) >> 32)
    }
}

impl Private {
    /// Gives up a line to another core that requests it now and is snooped after `snoop_delay` cycles; if the request is
    /// not `exclusive`, gives up the right to write it alone. Returns the line as it was, if it was there, and the cycle
    /// from which on it is given up: a line that is still to arrive stays for as long as a snoop takes.
    pub(super) fn give_up(
        &mut self,
        line: Line,
        exclusive: bool,
        now: u64,
        snoop_delay: u64,
    ) -> Option<(CacheLine, u64)> {
        let mut before: Option<(CacheLine, u64)> = None;
        let caches = self.l1d.each().chain(self.l2.each());
        for held in caches.filter_map(|cache| cache.peek(line)) {
            if held.stays && held.until <= now {
                (held.state, held.until, held.stays) = (State::Shared, u64::MAX, false);
            }
            if held.until < u64::MAX && !held.stays {
                continue;
            }
            let snooped = now.max(held.ready) + snoop_delay;
            let at = if held.stays { snooped.max(held.until) } else { snooped };
            before = before.filter(|(other, _)| other.state >= held.state).or(Some((*held, at)));
            if exclusive {
                (held.until, held.stays) = (at, false);
            } else if held.state != State::Shared && !held.stays {
                (held.until, held.stays) = (at, true);
            }
        }
        if exclusive {
            for cache in self.l1i.each() {
                cache.remove(line);
            }
        }
        before
    }
}
