//! Memory beyond the pipeline: caches, translations, prefetchers, and other cores that want the same lines.
//!
//! A request changes all states at once and is answered with when its line will be there. What others still have to
//! wait for (buffers, links, a line on its way) is remembered as the cycle in which it is free.

mod background_fills;
mod cache;
mod coherence;
mod fill_conflict;
mod line_alias;
mod link;
mod mshr;
mod pages;
mod prefetch;
mod private;
mod recall;
mod set_associative;
mod shadow_tags;
#[cfg(test)]
mod tests;
mod tlb;
mod touch;
mod write_combining;

pub(crate) use background_fills::Chance;
pub(crate) use pages::Pages;

use cache::{Cache, Evicted, Held, Line, State};
use coherence::Directory;
use corun_record::MemoryRequests;
use link::Link;
use pages::PAGE_SHIFT;
use prefetch::{Ahead, Level};
use private::Private;

use crate::sharing::Requester;
use corun_model::{CoreModel, Holds, LINE, WalkCache};
use tlb::Found;

/// Bits of an offset in a line.
const LINE_SHIFT: u32 = LINE.trailing_zeros();
/// Lines of a page of 4 KiB.
const LINES_OF_A_PAGE: u64 = 1 << (PAGE_SHIFT - LINE_SHIFT);

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The first-level cache.
    L1,
    /// The second-level cache.
    L2,
    /// The last-level cache.
    L3,
    /// Memory.
    Main,
    /// Another core that had changed it.
    OtherCore,
}

/// Exchanges between cores take up to one part of so many less or more than they do on average.
const TRANSFER_PARTS: u64 = 4;

/// What a thread asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// The core that asks.
    pub(crate) core: usize,
    /// Which of its threads.
    pub(crate) requester: Requester,
    /// A number for the instruction.
    pub(crate) instruction: u64,
    /// A linear address; its line is meant.
    pub(crate) linear: u64,
    /// The pages of the process.
    pub(crate) pages: Pages,
}

/// When a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The cycle in which the first level has both translation and line; what a hit takes comes on top.
    pub(crate) ready: u64,
    /// Cycles of them for the translation.
    pub(crate) translation: u64,
    pub(crate) origin: Origin,
    /// Cycles of them that the line would not have taken if a sibling had not evicted it.
    pub(crate) evicted: SiblingEviction,
}

/// What a line takes longer because a sibling evicted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SiblingEviction {
    pub(crate) cycles: u16,
    /// Whether it was evicted from the second level, not from the first.
    pub(crate) is_second: bool,
}

impl SiblingEviction {
    /// From the first level, if it was, or as from the second.
    fn of(is_evicted: bool, cycles: u64, second: u64) -> Self {
        match is_evicted {
            true => Self { cycles: cycles.min(u16::MAX.into()) as u16, is_second: false },
            false => Self { cycles: second.min(u16::MAX.into()) as u16, is_second: true },
        }
    }
}

/// A line from the second level or beyond.
#[derive(Debug, Clone, Copy)]
struct Beyond {
    ready: u64,
    origin: Origin,
    state: State,
    /// Cycles that the second level would have spared if a sibling had not evicted it there.
    evicted: u64,
}

/// All that cores share, and what each has of its own.
pub(crate) struct Memory {
    cores: Vec<Private>,
    groups: Vec<Group>,
    /// Which cores hold which lines; none with one core.
    directory: Option<Directory>,
    latencies: Latencies,
    /// Requests for lines that other cores may have.
    transfers: u64,
    group_size: usize,
    holds: Holds,
}

/// Cores around one last-level cache, and their way to memory.
struct Group {
    l3: Option<Cache>,
    /// Lines from memory, and those written back, which delay no read there.
    from_main: Link,
    to_main: Link,
}

/// Cycles on top of those of the level before.
#[derive(Debug, Clone, Copy)]
struct Latencies {
    l2: u64,
    l3: u64,
    main: u64,
    write: u64,
    transfer: u64,
    snoop_delay: u64,
    code: u64,
    walk_begins: WalkCache,
}

impl Memory {
    /// Empty caches for cores with so many threads each.
    pub(crate) fn new(model: &CoreModel, threads: &[usize]) -> Self {
        let cores = threads.len();
        let hierarchy = &model.hierarchy;
        let l3 = hierarchy.l3.as_ref();
        let group_size = l3.map_or(cores, |l3| l3.cores as usize).max(1);
        let behind_l2 = if l3.is_some() { hierarchy.l2.miss } else { 0 };
        let behind_l3 = l3.map_or(hierarchy.l2.miss, |l3| l3.miss);
        let main = &hierarchy.main;
        let of_group = cores.min(group_size) as u32;
        let bandwidth = hierarchy.memory_bandwidth(of_group);
        let seconds_a_line = f64::from(LINE) / (bandwidth * 1e9);
        let group = || Group {
            l3: l3.zip(hierarchy.last_level(of_group)).map(|(l3, size)| {
                let lines_a_second = l3.background_fills * 1e9 / f64::from(LINE);
                Cache::of(size).with_background_fills(lines_a_second / (model.gigahertz * 1e9))
            }),
            from_main: Link::new(seconds_a_line * model.gigahertz * 1e9),
            to_main: Link::new(seconds_a_line * model.gigahertz * 1e9),
        };
        Self {
            cores: threads.iter().map(|&threads| Private::of(model, threads)).collect(),
            groups: (0..cores.div_ceil(group_size)).map(|_| group()).collect(),
            directory: (cores > 1).then(|| Directory::new(cores)),
            latencies: Latencies {
                l2: model.memory.l1d.miss.into(),
                l3: behind_l2.into(),
                main: u64::from(behind_l3) + (main.nanoseconds * model.gigahertz) as u64,
                write: (main.write_share * main.nanoseconds * model.gigahertz) as u64,
                transfer: hierarchy.coherence.transfer.into(),
                snoop_delay: hierarchy.coherence.snoop_delay.into(),
                code: model.front.l1i.miss.into(),
                walk_begins: hierarchy.walk.first_cache,
            },
            transfers: 0,
            group_size,
            holds: l3.map_or(Holds::Victims, |l3| l3.holds),
        }
    }

    /// A part of the run was left out up to cycle `now`: the second and the last level hold lines of it, which are not known.
    pub(crate) fn expect_earlier_lines(&mut self, now: u64) {
        let second = self.cores.iter_mut().flat_map(|core| core.l2.each());
        let last = self.groups.iter_mut().filter_map(|group| group.l3.as_mut());
        second.chain(last).for_each(|cache| cache.expect_earlier_lines(now));
    }

    /// Whether a buffer for a miss of the first level is free.
    #[inline]
    pub(crate) fn has_buffer(&mut self, core: usize, requester: Requester, now: u64) -> bool {
        !self.cores[core].fills.of(requester).are_full(now)
    }

    /// Whether a load can be asked for: the first level has its line, or there is a buffer for it. If not, when there is
    /// going to be one.
    #[inline]
    pub(crate) fn may_ask(&mut self, request: Request, now: u64) -> Result<(), u64> {
        let own = &mut self.cores[request.core];
        let fills = own.fills.of(request.requester);
        if !fills.are_full(now) {
            return Ok(());
        }
        let free = fills.free(now);
        let line = request.pages.physical(request.linear) >> LINE_SHIFT;
        let is_there = own.l1d.of(request.requester).peek(line).is_some();
        if is_there { Ok(()) } else { Err(free) }
    }

    /// A load.
    pub(crate) fn load(&mut self, request: Request, now: u64) -> Reply {
        self.data(request, false, now)
    }

    /// A line that is going to be written: afterwards no other core has it.
    pub(crate) fn own(&mut self, request: Request, now: u64) -> Reply {
        self.data(request, true, now)
    }

    /// When a line that was asked for with [`own`](Self::own) can be written; none if it is not the
    /// core's own any more, and must be asked for again.
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

    /// Whether a line came from another core, which had changed it or was to, the last time that it came to
    /// any.
    pub(crate) fn is_contended(&self, request: Request) -> bool {
        self.directory.as_ref().is_some_and(|directory| {
            directory.is_contended(request.pages.physical(request.linear) >> LINE_SHIFT)
        })
    }

    /// Whether this holds for any line.
    #[inline]
    pub(crate) fn is_any_contended(&self) -> bool {
        self.directory.as_ref().is_some_and(Directory::has_contended)
    }

    /// Forgets the translations of data in a core's first level, but for those that are requested.
    pub(crate) fn forget_translations(&mut self, core: usize, but: impl Iterator<Item = Request>) {
        let translations = &mut self.cores[core].translations;
        translations.forget_data();
        for Request { requester, pages, linear, .. } in but {
            translations.find(requester, pages.page(linear, false));
        }
    }

    /// Instructions: when their line can be decoded.
    pub(crate) fn fetch(&mut self, request: Request, now: u64) -> Reply {
        let translation = self.translate(&request, true, now);
        let start = now + translation;
        let line = request.pages.code(request.linear) >> LINE_SHIFT;
        let core = &mut self.cores[request.core];
        if let Some(held) = core.l1i.of(request.requester).find(line) {
            let ready = held.ready.max(start);
            let evicted = SiblingEviction::of(held.was_evicted, ready - start, 0);
            return Reply { ready, translation, origin: Origin::L1, evicted };
        }
        core.asked(request.requester).l1i_misses += 1;
        let is_evicted = core.l1i.of(request.requester).was_evicted(line, request.requester.thread);
        let Request { core, requester, .. } = request;
        let found = self.beyond(core, requester, line, false, start, self.latencies.code);
        let (ready, origin) = (found.ready, found.origin);
        self.cores[core].l1i.of(requester).insert(line, ready, State::Shared, requester.thread);
        let evicted = SiblingEviction::of(is_evicted, ready - start, found.evicted);
        Reply { ready, translation, origin, evicted }
    }

    /// Brings a line of code that is going to be asked for.
    pub(crate) fn fetch_ahead(&mut self, request: Request, now: u64) {
        let Request { core, requester, pages, linear, .. } = request;
        let line = pages.code(linear) >> LINE_SHIFT;
        if self.cores[core].l1i.of(requester).peek(line).is_none() {
            let ready = self.beyond(core, requester, line, false, now, self.latencies.code).ready;
            self.cores[core].l1i.of(requester).insert(line, ready, State::Shared, requester.thread);
        }
    }

    /// Lines that other cores took from this one since it was last asked, and when.
    pub(crate) fn taken(&mut self, core: usize) -> Option<&mut Vec<(Line, u64)>> {
        self.directory.as_mut().map(|directory| directory.taken(core))
    }

    /// What a thread of a core has asked for.
    pub(crate) fn requests(&self, core: usize, thread: usize) -> MemoryRequests {
        self.cores[core].requests[thread]
    }

    fn data(&mut self, request: Request, is_write: bool, now: u64) -> Reply {
        let reply = match self.data_again(&request, is_write, now) {
            Some(reply) => reply,
            None => self.find_data(request, is_write, now),
        };
        let is_new = reply.origin != Origin::L1;
        let instruction = (!is_write).then_some(request.instruction);
        let prefetchers = self.cores[request.core].prefetchers.of(request.requester);
        if let Some(ahead) = prefetchers.follow(instruction, request.linear, is_new) {
            self.go_ahead(request, &ahead, now + reply.translation);
        }
        reply
    }

    /// The answer for a line that was asked for lately and is still in the first level.
    #[inline]
    fn data_again(&mut self, request: &Request, is_write: bool, now: u64) -> Option<Reply> {
        let serves = |held: &Held| held.serves(is_write, now);
        let held = self.cores[request.core].find_again(request, serves)?;
        Some(Self::from_first(held, is_write, (now, 0)))
    }

    /// The answer for a line that the first level has at cycle `start`, which is after the translation.
    #[inline]
    fn from_first(held: &mut Held, is_write: bool, (start, translation): (u64, u64)) -> Reply {
        if is_write {
            held.state = State::Modified;
        }
        let ready = held.ready.max(start);
        let evicted = SiblingEviction::of(held.was_evicted, ready - start, 0);
        Reply { ready, translation, origin: Origin::L1, evicted }
    }

    fn find_data(&mut self, request: Request, is_write: bool, now: u64) -> Reply {
        let translation = self.translate(&request, false, now);
        let start = now + translation;
        let physical = request.pages.physical(request.linear);
        let line = physical >> LINE_SHIFT;
        let Request { core: number, requester, .. } = request;
        self.displace(request, line, start);
        let core = &mut self.cores[number];
        match core.l1d.of(requester).find(line) {
            Some(held) if held.serves(is_write, start) => {
                let reply = Self::from_first(held, is_write, (start, translation));
                if translation == 0 && core.aliases.of(requester).is_none() {
                    core.note_found(&request, line);
                }
                reply
            }
            _ => {
                core.asked(requester).l1d_misses += 1;
                let is_evicted = core.l1d.of(requester).was_evicted(line, requester.thread);
                let begin = core.settling.begin(line, core.fills.of(requester).free(start));
                let Beyond { ready, origin, evicted, .. } =
                    self.bring(number, requester, line, is_write, begin);
                let evicted = SiblingEviction::of(is_evicted, ready - start, evicted);
                self.cores[number].fills.of(requester).take(ready);
                if self.cores[number].next_line && !(line + 1).is_multiple_of(LINES_OF_A_PAGE) {
                    self.bring_ahead(number, requester, line + 1, begin);
                }
                Reply { ready, translation, origin, evicted }
            }
        }
    }

    /// Lets the first level give up the line that it cannot hold beside the one that is asked for.
    fn displace(&mut self, request: Request, line: Line, now: u64) {
        let Request { core, requester, linear, .. } = request;
        let own = &mut self.cores[core];
        let Some(aliases) = own.aliases.of(requester) else { return };
        let Some(other) = aliases.displace(linear, line) else { return };
        let evicted = own.l1d.of(requester).give_way(other, requester.thread);
        if let Some(evicted) = evicted.filter(|evicted| evicted.state == State::Modified) {
            self.write_back(core, requester, evicted.line, now);
        }
    }

    /// Brings what a prefetcher wants that follows linear addresses.
    fn go_ahead(&mut self, request: Request, ahead: &Ahead, now: u64) {
        for (steps, level) in ahead.steps.iter().zip([Level::First, Level::Second]) {
            for step in steps.clone() {
                // Where all pages are one, there are none but those that are asked for.
                let is_there = |linear: &u64| {
                    !request.pages.are_one()
                        || *linear >> PAGE_SHIFT == request.linear >> PAGE_SHIFT
                };
                let is_brought = ahead.at(step).filter(is_there).is_some_and(|linear| {
                    let wanted = Request { linear, ..request };
                    let start = now + self.translate(&wanted, false, now);
                    let line = request.pages.physical(linear) >> LINE_SHIFT;
                    match level {
                        Level::First => {
                            self.bring_ahead(request.core, request.requester, line, start)
                        }
                        Level::Second => {
                            self.fill_l2_ahead(request.core, request.requester, line, start)
                        }
                    }
                });
                if !is_brought {
                    // Later, when there is a buffer.
                    self.cores[request.core]
                        .prefetchers
                        .of(request.requester)
                        .stop_before(level, step);
                    break;
                }
            }
        }
    }

    /// A line for the first level without a demand access, unless it is there; says no if all buffers are taken.
    fn bring_ahead(&mut self, core: usize, requester: Requester, line: Line, now: u64) -> bool {
        let own = &mut self.cores[core];
        if own.l1d.of(requester).peek(line).is_some() {
            return true;
        }
        if own.fills.of(requester).are_full(now) {
            return false;
        }
        own.asked(requester).prefetches += 1;
        let ready = self.bring(core, requester, line, false, now).ready;
        self.cores[core].fills.of(requester).take(ready);
        true
    }

    /// A line for the first-level data cache.
    fn bring(
        &mut self,
        core: usize,
        requester: Requester,
        line: Line,
        is_write: bool,
        now: u64,
    ) -> Beyond {
        let to_l2 = self.latencies.l2;
        let found = self.beyond(core, requester, line, is_write, now, to_l2);
        let state = if is_write { State::Modified } else { found.state };
        let own = &mut self.cores[core];
        own.settling.fill(line, found.ready + own.l1d_latency);
        let evicted = own.l1d.of(requester).insert(line, found.ready, state, requester.thread);
        if let Some(evicted) = evicted.filter(|evicted| evicted.state == State::Modified) {
            self.write_back(core, requester, evicted.line, now);
        }
        found
    }

    /// A line from the second level or beyond, which is searched for from `now` on.
    fn beyond(
        &mut self,
        core: usize,
        requester: Requester,
        line: Line,
        is_write: bool,
        now: u64,
        to_l2: u64,
    ) -> Beyond {
        let own = &mut self.cores[core];
        let stream = own.prefetchers.of(requester).stream(line);
        let start = own.l2_link.of(requester).take(now);
        let l2 = own.l2.of(requester);
        let found = l2.find_or_recognise(line, requester.thread).map(|held| *held);
        let reply = match found {
            Some(held) if held.hands_on(is_write) => {
                let ready = held.ready.max(start);
                let evicted = if held.was_evicted { ready - start } else { 0 };
                let (origin, state) = (Origin::L2, held.kept());
                Beyond { ready: ready + to_l2, origin, state, evicted }
            }
            _ => {
                own.asked(requester).l2_misses += 1;
                let is_evicted = own.l2.of(requester).was_evicted(line, requester.thread);
                let begin = own.l2_misses.of(requester).free(start);
                let (ready, origin, state) = self.outside(core, requester, line, is_write, begin);
                let own = &mut self.cores[core];
                own.l2_misses.of(requester).take(ready);
                if own.adjacent {
                    self.fill_l2_ahead(core, requester, line ^ 1, begin);
                }
                let evicted = if is_evicted { ready - start } else { 0 };
                Beyond { ready: ready + to_l2, origin, state, evicted }
            }
        };
        for line in stream {
            if !self.fill_l2_ahead(core, requester, line, start) {
                // Later, when there is a buffer.
                self.cores[core].prefetchers.of(requester).stop_stream_before(line);
                break;
            }
        }
        reply
    }

    /// A line for the second level without a demand access, unless it is there; says no if all buffers are taken.
    fn fill_l2_ahead(&mut self, core: usize, requester: Requester, line: Line, now: u64) -> bool {
        let own = &mut self.cores[core];
        if own.l1d.of(requester).peek(line).is_some() || own.l2.of(requester).peek(line).is_some() {
            return true;
        }
        if own.l2_misses.of(requester).are_full(now) {
            return false;
        }
        own.asked(requester).prefetches += 1;
        let (ready, _, _) = self.outside(core, requester, line, false, now);
        self.cores[core].l2_misses.of(requester).take(ready);
        true
    }

    /// A line from another core, the last level or memory, into the second level.
    fn outside(
        &mut self,
        core: usize,
        requester: Requester,
        line: Line,
        is_write: bool,
        now: u64,
    ) -> (u64, Origin, State) {
        let is_alone = match &mut self.directory {
            None => true,
            Some(directory) => {
                let others = directory.ask(line, core, is_write);
                if let Some(ready) = self.take_from(others, line, is_write, now) {
                    let state = if is_write { State::Modified } else { State::Shared };
                    self.cores[core].asked(requester).transfers += 1;
                    self.fill_l2(core, requester, line, ready, state);
                    return (ready, Origin::OtherCore, state);
                }
                others == 0
            }
        };
        let state = match (is_write, is_alone) {
            (true, _) => State::Modified,
            (false, true) => State::Exclusive,
            (false, false) => State::Shared,
        };
        let latencies = self.latencies;
        let start = self.cores[core].l3_link.take(now);
        self.let_background_fills_in(core, line, start);
        let group = &mut self.groups[core / self.group_size];
        let found = group.l3.as_mut().and_then(|l3| l3.find_or_recognise(line, 0));
        let found = found.map(|held| held.ready);
        let (ready, origin) = match found {
            Some(ready) => (ready.max(start) + latencies.l3, Origin::L3),
            None => {
                self.cores[core].asked(requester).main += 1;
                let ready = group.from_main.take(start) + latencies.l3 + latencies.main;
                if self.holds == Holds::Inclusive {
                    self.fill_l3(core, line, ready - latencies.l3, State::Exclusive);
                }
                (ready, Origin::Main)
            }
        };
        self.fill_l2(core, requester, line, ready, state);
        (ready, origin, state)
    }

    /// Takes a line from other cores, or (if it is only read) the right to write it. Returns the cycle
    /// in which it comes from one that has it.
    fn take_from(&mut self, others: u64, line: Line, is_write: bool, now: u64) -> Option<u64> {
        let transfer = if others == 0 { 0 } else { self.next_transfer() };
        let snoop_delay = transfer * self.latencies.snoop_delay / self.latencies.transfer.max(1);
        let mut given = None;
        let mut is_contended = is_write;
        let mut left = others;
        while left != 0 {
            let other = left.trailing_zeros() as usize;
            left &= left - 1;
            let held = self.cores[other].give(line, is_write, now, snoop_delay);
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

    /// Cycles of the next exchange between cores: no two find the links between them alike, and if they
    /// did, cores would fall into step with each other.
    fn next_transfer(&mut self) -> u64 {
        self.transfers = self.transfers.wrapping_add(1);
        let spread = self.latencies.transfer / TRANSFER_PARTS;
        // Multiples of the golden ratio's fraction (Weyl).
        let place = self.transfers.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.latencies.transfer.saturating_sub(spread) + ((place * (2 * spread + 1)) >> 32)
    }

    fn fill_l2(&mut self, core: usize, requester: Requester, line: Line, ready: u64, state: State) {
        let evicted =
            self.cores[core].l2.of(requester).insert(line, ready, state, requester.thread);
        let Some(evicted) = evicted else { return };
        if self.holds == Holds::Victims || evicted.state == State::Modified {
            self.fill_l3(core, evicted.line, ready, evicted.state);
        }
    }

    fn fill_l3(&mut self, core: usize, line: Line, ready: u64, state: State) {
        self.let_background_fills_in(core, line, ready);
        let group = &mut self.groups[core / self.group_size];
        let Some(l3) = &mut group.l3 else {
            if state == State::Modified {
                group.to_main.take(ready);
            }
            return;
        };
        if let Some(evicted) = l3.insert(line, ready, state, 0) {
            self.leave_l3(core, evicted, ready);
        }
    }

    /// What cores that are not simulated have brought into a line's set of the last level comes in.
    fn let_background_fills_in(&mut self, core: usize, line: Line, now: u64) {
        let group = core / self.group_size;
        let came = self.groups[group].l3.as_mut().map_or(0, |l3| l3.came(line, now));
        for _ in 0..came {
            let evicted = self.groups[group].l3.as_mut().and_then(|l3| l3.let_in(line, now));
            if let Some(evicted) = evicted {
                self.leave_l3(core, evicted, now);
            }
        }
    }

    /// A line has left the last level, and with an inclusive one all cores around it.
    fn leave_l3(&mut self, core: usize, evicted: Evicted, now: u64) {
        let mut is_changed = evicted.state == State::Modified;
        if self.holds == Holds::Inclusive {
            let first = core / self.group_size * self.group_size;
            for own in self.cores.iter_mut().skip(first).take(self.group_size) {
                let given = own.give(evicted.line, true, now, 0);
                is_changed |= given.is_some_and(|(held, _)| held.state == State::Modified);
            }
        }
        if is_changed {
            self.groups[core / self.group_size].to_main.take(now);
        }
    }

    /// A changed line leaves the first level.
    fn write_back(&mut self, core: usize, requester: Requester, line: Line, now: u64) {
        match self.cores[core].l2.of(requester).peek(line) {
            Some(held) => held.state = State::Modified,
            None => self.fill_l2(core, requester, line, now, State::Modified),
        }
    }

    /// Cycles until the page of a request is known.
    fn translate(&mut self, request: &Request, is_code: bool, now: u64) -> u64 {
        let own = &mut self.cores[request.core];
        let requester = request.requester;
        let translations = &mut own.translations;
        let miss = if is_code { translations.code_miss } else { translations.data_miss };
        let nested = translations.nested;
        let pages = if is_code { request.pages.in_small() } else { request.pages };
        let above = match translations.find(requester, pages.page(request.linear, is_code)) {
            Found::First => return 0,
            Found::Second => return miss,
            Found::Walk(above) => above,
        };
        let begin = translations.walkers.of(requester).free(now + miss);
        let mut at = begin + translations.walk;
        own.asked(requester).walks += 1;
        // The entry of the level above lies 512 times as close to its neighbours.
        let entry = pages.entry(request.linear);
        let levels = [entry >> 9 & !7 | 1 << 60, entry];
        for entry in &levels[1 - above.min(1) as usize..] {
            at = self.table(request.core, requester, entry >> LINE_SHIFT, at);
        }
        for _ in 0..nested {
            let entry = pages.host_entry(request.linear);
            at = self.table(request.core, requester, entry >> LINE_SHIFT, at);
        }
        self.cores[request.core].translations.walkers.of(requester).take(at);
        at - now
    }

    /// When an entry of the tables is read.
    fn table(&mut self, core: usize, requester: Requester, line: Line, now: u64) -> u64 {
        let latencies = self.latencies;
        match latencies.walk_begins {
            WalkCache::L2 => self.beyond(core, requester, line, false, now, latencies.l2).ready,
            WalkCache::L1d => match self.cores[core].l1d.of(requester).find(line) {
                Some(held) => held.ready.max(now) + self.cores[core].l1d_latency,
                None => {
                    self.bring(core, requester, line, false, now).ready
                        + self.cores[core].l1d_latency
                }
            },
        }
    }
}
