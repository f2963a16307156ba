//! Accesses of a thread to the places that several threads change atomically.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use corun_trace::format::{FormatError, Trace};
use corun_trace::{
    Access, Atomic, BlockId, Direction, Event, Marker, ThreadId, atomics, first_accesses,
};

/// Instructions from one poll to the next, at most.
const LONGEST_LOOP: u64 = 64;

/// The address of an instruction, which may be in several blocks.
pub(super) type Code = u64;

/// A trace and the places of it that matter.
pub(in crate::replay::synchronisation) struct Watched<'t> {
    trace: &'t Trace,
    /// Of each block the addresses of its instructions.
    addresses: Vec<Vec<Code>>,
    /// Which instructions are atomic, of the blocks that have such.
    atomics: HashMap<BlockId, Vec<Option<Atomic>>>,
    /// The addresses that several threads change by atomic instructions.
    pub(in crate::replay::synchronisation) shared: HashSet<u64>,
}

/// A step of a thread, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'e> {
    /// A marker of this order; whether the thread continues after it as if nothing had been.
    Marker {
        order: u64,
        goes_on: bool,
    },
    /// A block begins, with these values.
    Values(&'e [u64]),
    Access(Accessed),
}

/// An access, and the thread's instructions before it, before its block, and before the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accessed {
    place: u64,
    direction: Direction,
    atomic: Option<Atomic>,
    code: Code,
    at: u64,
    begin: u64,
    end: u64,
    /// Of the last marker.
    order: u64,
}

impl Accessed {
    /// True if it reads something, to come again if that is not what it waits for.
    fn is_poll(&self) -> bool {
        match self.atomic {
            Some(atomic) => atomic == Atomic::Try,
            None => self.direction == Direction::Read,
        }
    }

    fn is_change(&self) -> bool {
        let is_store = matches!(self.direction, Direction::Write | Direction::ReadWrite);
        self.atomic.is_some() || is_store
    }
}

impl<'t> Watched<'t> {
    pub(in crate::replay::synchronisation) fn new(
        trace: &'t Trace,
        threads: &[ThreadId],
    ) -> Result<Self, FormatError> {
        let atomics = (0..).zip(trace.blocks()).filter_map(|(id, block)| {
            let atomics = atomics(block);
            atomics.iter().any(Option::is_some).then_some((BlockId(id), atomics))
        });
        let addresses = trace.blocks().iter().map(|block| block.addresses().collect());
        let (addresses, atomics) = (addresses.collect(), atomics.collect());
        let mut own = Self { trace, addresses, atomics, shared: HashSet::new() };
        if own.atomics.is_empty() {
            return Ok(own);
        }
        let (mut owners, mut shared) = (HashMap::new(), HashSet::new());
        for &thread in threads {
            own.walk(thread, &mut |step| {
                if let Step::Access(access) = step
                    && access.atomic.is_some()
                    && *owners.entry(access.place).or_insert(thread) != thread
                {
                    shared.insert(access.place);
                }
            })?;
        }
        own.shared = shared;
        Ok(own)
    }

    /// Reports what a thread does, in its order.
    pub(super) fn walk(
        &self,
        thread: ThreadId,
        follow: &mut impl FnMut(Step<'_>),
    ) -> Result<(), FormatError> {
        let mut events = self.trace.events(thread)?;
        let (mut begin, mut order, mut is_announced) = (0, 0, false);
        while let Some(event) = events.next_event()? {
            let (id, executed, values) = match event {
                Event::Marker(it) => {
                    order = it.order;
                    is_announced = it.marker == Marker::Atomic;
                    let goes_on = is_announced || it.marker == Marker::Switch;
                    follow(Step::Marker { order, goes_on });
                    continue;
                }
                Event::Block { block, executed, values } => (block, executed, values),
            };
            follow(Step::Values(values));
            let atomics = self.atomics.get(&id).filter(|_| is_announced);
            let end = begin + u64::from(executed);
            for access in first_accesses(self.trace.block(id), executed, values) {
                let Access { instruction, address: place, direction, .. } = access;
                let index = instruction as usize;
                follow(Step::Access(Accessed {
                    place,
                    direction,
                    atomic: atomics.and_then(|all| *all.get(index)?),
                    code: self.addresses[id.0 as usize][index],
                    at: begin + u64::from(instruction),
                    begin,
                    end,
                    order,
                }));
            }
            (begin, is_announced) = (end, false);
        }
        Ok(())
    }
}

/// A thread polls at a place with the same instruction, once or over and over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Polls {
    place: u64,
    code: Code,
    /// The blocks of the first, the second, the third and the last one begin here.
    begin: u64,
    again: Option<u64>,
    third: Option<u64>,
    pub(super) last: u64,
    /// The last one, ...
    at: u64,
    /// ... the last marker before it, and before the one before that, which saw nothing new.
    order: u64,
    in_vain: Option<u64>,
    /// Reports what else was read since the last one, and from the second to the third.
    read: u64,
    usually_read: Option<u64>,
    /// True if that was something else each time: it does not wait, it works.
    works: bool,
    /// Which change it is, if it is one.
    change: Option<usize>,
    /// True if the thread changes something in the block of the first one, before it.
    follows_change: bool,
}

impl Polls {
    pub(super) fn has_spun(&self) -> bool {
        self.again.is_some() && !self.works
    }

    /// From where to where it polls once: from the second poll to the third, since the way to the first may be another one;
    /// with less, from the first on, or nowhere but there. None if it would wait in front of a change that others may wait for.
    pub(super) fn round(&self) -> Option<(u64, u64)> {
        match (self.again, self.third) {
            (Some(again), Some(third)) => Some((again, third)),
            (Some(again), None) if self.follows_change => Some((again, again)),
            (None, _) if self.follows_change => None,
            (again, _) => Some((self.begin, again.unwrap_or(self.begin))),
        }
    }

    fn first(access: &Accessed) -> Self {
        let &Accessed { place, code, at, begin, order, .. } = access;
        Self {
            place,
            code,
            begin,
            again: None,
            third: None,
            last: begin,
            at,
            order,
            in_vain: None,
            read: 0,
            usually_read: None,
            works: false,
            change: None,
            follows_change: false,
        }
    }

    /// With one more.
    fn then(&self, access: &Accessed) -> Self {
        let Accessed { begin, at, order, .. } = *access;
        let again = self.again.or(Some(begin));
        let third = self.third.or(self.again.map(|_| begin));
        let usually_read = self.usually_read.or(self.again.map(|_| self.read));
        let works = self.works || usually_read.is_some_and(|usually| usually != self.read);
        let in_vain = Some(self.order);
        let last = begin;
        Self { again, third, last, at, order, in_vain, usually_read, works, read: 0, ..*self }
    }
}

/// Polls of a thread since it last did something else, the latest last.
#[derive(Debug, Default)]
struct Recent {
    polls: VecDeque<Polls>,
}

impl Recent {
    /// The polls at a place, if they are not too long ago.
    fn at(&self, access: &Accessed) -> Option<&Polls> {
        let is_recent = |polls: &&Polls| access.at - polls.at <= LONGEST_LOOP;
        self.polls.iter().rfind(|polls| polls.place == access.place).filter(is_recent)
    }

    /// Goes on with the polls that there are, or begins.
    fn poll(&mut self, access: &Accessed) -> Polls {
        let before = self.at(access).filter(|polls| polls.code == access.code);
        let polls = before.map_or_else(|| Polls::first(access), |before| before.then(access));
        let is_recent = |it: &Polls| access.at - it.at <= LONGEST_LOOP;
        self.polls.retain(|it| it.place != access.place && is_recent(it));
        self.polls.push_back(polls);
        polls
    }

    fn read(&mut self, values: &[u64]) {
        for polls in self.polls.iter_mut().filter(|_| !values.is_empty()) {
            let mut hasher = DefaultHasher::new();
            (polls.read, values).hash(&mut hasher);
            polls.read = hasher.finish();
        }
    }
}

/// A change of a shared place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Among the markers of all threads that of its thread before it, and after it.
    pub(super) order: u64,
    pub(super) next_order: u64,
    pub(super) thread: ThreadId,
    pub(super) place: u64,
    code: Code,
    /// End of its block.
    pub(super) until: u64,
    /// The polls that lead to it.
    pub(super) polls_before: Option<Polls>,
}

impl Change {
    /// Who makes it, and where in the program.
    pub(super) fn taker(&self) -> (ThreadId, Code) {
        (self.thread, self.code)
    }

    /// If it was tried before: the marker before it was last tried in vain.
    pub(super) fn tried_in_vain(&self) -> Option<u64> {
        self.polls_before.filter(|polls| polls.code == self.code)?.in_vain
    }
}

/// One thread as it goes on.
pub(super) struct Watch<'a> {
    thread: ThreadId,
    shared: &'a HashSet<u64>,
    recent: Recent,
    changes: Vec<Change>,
    /// The changes from here on lie before the next marker.
    open: usize,
}

impl<'a> Watch<'a> {
    pub(super) fn new(thread: ThreadId, shared: &'a HashSet<u64>) -> Self {
        Self { thread, shared, recent: Recent::default(), changes: Vec::new(), open: 0 }
    }

    pub(super) fn follow(&mut self, step: Step<'_>) {
        match step {
            Step::Marker { order, goes_on } => {
                self.close(order);
                if !goes_on {
                    self.recent.polls.clear();
                }
            }
            Step::Values(values) => self.recent.read(values),
            Step::Access(access) if self.shared.contains(&access.place) => self.act(access),
            Step::Access(access) if access.is_change() => self.recent.polls.clear(),
            // Other polls are of no interest.
            Step::Access(_) => {}
        }
    }

    /// All that it changed.
    pub(super) fn end(mut self) -> Vec<Change> {
        self.close(u64::MAX);
        self.changes.retain(|change| change.place != NOWHERE);
        self.changes
    }

    fn close(&mut self, order: u64) {
        self.changes[self.open..].iter_mut().for_each(|change| change.next_order = order);
        self.open = self.changes.len();
    }

    /// At a shared place.
    fn act(&mut self, access: Accessed) {
        let before = self.recent.at(&access).copied();
        if !access.is_poll() {
            // An atomic instruction takes what another one has seen.
            let polls_before = before.filter(|it| access.atomic.is_some() && it.has_spun());
            self.add(&access, polls_before);
            return self.recent.polls.clear();
        }
        let mut polls = self.recent.poll(&access);
        polls.follows_change |= !polls.has_spun() && self.has_changed_before(&access);
        if access.is_change() {
            let by_another = before.filter(|it| it.has_spun() && it.code != access.code);
            let polls_before = if polls.has_spun() { polls } else { by_another.unwrap_or(polls) };
            // It comes again: it had changed nothing.
            if let Some(earlier) = polls_before.change.filter(|_| polls_before.has_spun()) {
                self.take_back(earlier);
            }
            polls.change = Some(self.changes.len());
            self.add(&access, Some(polls_before));
        }
        if let Some(latest) = self.recent.polls.back_mut() {
            *latest = polls;
        }
    }

    /// True if it changes a shared place in the same block.
    fn has_changed_before(&self, access: &Accessed) -> bool {
        self.changes.last().is_some_and(|change| change.until == access.end)
    }

    fn take_back(&mut self, change: usize) {
        if change + 1 == self.changes.len() {
            self.changes.truncate(change);
            self.open = self.open.min(change);
        } else {
            self.changes[change].place = NOWHERE;
        }
    }

    fn add(&mut self, access: &Accessed, polls_before: Option<Polls>) {
        let &Accessed { place, code, end: until, order, .. } = access;
        let (thread, next_order) = (self.thread, u64::MAX);
        self.changes.push(Change { order, next_order, thread, place, code, until, polls_before });
    }
}

/// The place of what was taken back.
const NOWHERE: u64 = u64::MAX;
