//! What a thread does to places that others change, and where it only looks.

use std::collections::{HashMap, HashSet, VecDeque};

use corun_trace::format::{FormatError, Trace};
use corun_trace::{
    Access, Atomic, BlockId, Direction, Event, Marker, ThreadId, atomics, first_accesses,
};

/// Instructions from one look to the next, at most.
const LONGEST_LOOP: u64 = 64;
/// Looks and changes are of one place within so many bytes.
const PLACE_SHIFT: u32 = 3;

/// The address of an instruction, which may be in several blocks.
pub(super) type Code = u64;

/// A trace and the places of it that matter.
pub(super) struct Watched<'t> {
    trace: &'t Trace,
    /// Of each block the addresses of its instructions.
    addresses: Vec<Vec<Code>>,
    /// Which instructions are atomic, of the blocks that have such.
    atomics: HashMap<BlockId, Vec<Option<Atomic>>>,
    /// The places that one thread looks at again and again and another one changes.
    pub(super) shared: HashSet<u64>,
}

/// What a thread does, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A marker of this order; whether the thread goes on behind it as if nothing had been.
    Marker {
        order: u64,
        goes_on: bool,
    },
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
    /// Whether it reads something, to come again if that is not what it waits for.
    fn is_look(&self) -> bool {
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
    pub(super) fn new(trace: &'t Trace, threads: &[ThreadId]) -> Result<Self, FormatError> {
        let atomics = (0..).zip(trace.blocks()).filter_map(|(id, block)| {
            let atomics = atomics(block);
            atomics.iter().any(Option::is_some).then_some((BlockId(id), atomics))
        });
        let addresses = trace.blocks().iter().map(|block| block.addresses().collect());
        let (addresses, atomics) = (addresses.collect(), atomics.collect());
        let mut own = Self { trace, addresses, atomics, shared: HashSet::new() };
        own.shared = own.find_shared(threads)?;
        Ok(own)
    }

    fn find_shared(&self, threads: &[ThreadId]) -> Result<HashSet<u64>, FormatError> {
        let mut looked_at: HashMap<u64, Vec<ThreadId>> = HashMap::new();
        for &thread in threads {
            let mut recent = Recent::default();
            self.walk(thread, &mut |step| {
                if let Some(place) = recent.follow(step).and_then(|looks| looks.seen_again()) {
                    let own = looked_at.entry(place).or_default();
                    if own.last() != Some(&thread) {
                        own.push(thread);
                    }
                }
            })?;
        }
        let mut shared = HashSet::new();
        for &thread in threads {
            self.walk(thread, &mut |step| {
                if let Step::Access(access) = step
                    && access.is_change()
                    && let Some(lookers) = looked_at.get(&access.place)
                    && lookers.iter().any(|looker| *looker != thread)
                {
                    shared.insert(access.place);
                }
            })?;
        }
        Ok(shared)
    }

    /// Tells what a thread does, in its order.
    pub(super) fn walk(
        &self,
        thread: ThreadId,
        follow: &mut impl FnMut(Step),
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
            let atomics = self.atomics.get(&id).filter(|_| is_announced);
            let end = begin + u64::from(executed);
            for access in first_accesses(self.trace.block(id), executed, values) {
                let Access { instruction, address, direction, .. } = access;
                follow(Step::Access(Accessed {
                    place: address >> PLACE_SHIFT,
                    direction,
                    atomic: atomics.and_then(|all| *all.get(instruction as usize)?),
                    code: self.addresses[id.0 as usize][instruction as usize],
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

/// A thread looks at a place with the same instruction once, or over and over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    place: u64,
    code: Code,
    /// The blocks of the first, the second, the third and the last one begin here.
    begin: u64,
    pub(super) again: Option<u64>,
    third: Option<u64>,
    pub(super) last: u64,
    /// The last one, ...
    at: u64,
    /// ... the last marker before it, and before the one before that, which saw nothing new.
    order: u64,
    in_vain: Option<u64>,
    /// Which deed it is, if it is one.
    deed: Option<usize>,
    /// Whether the thread changes something in the block of the first one, before it.
    is_behind_change: bool,
}

impl Looks {
    /// From where to where it looks once: from the second look to the third, since the way to the first may be another one;
    /// with less, from the first on, or nowhere but there. None if it would wait in front of a change that others may wait for.
    pub(super) fn round(&self) -> Option<(u64, u64)> {
        match (self.again, self.third) {
            (Some(again), Some(third)) => Some((again, third)),
            (Some(again), None) if self.is_behind_change => Some((again, again)),
            (None, _) if self.is_behind_change => None,
            (again, _) => Some((self.begin, again.unwrap_or(self.begin))),
        }
    }

    fn seen_again(&self) -> Option<u64> {
        self.again.map(|_| self.place)
    }
}

/// What a thread has looked at since it last did something else, the latest last.
#[derive(Debug, Default)]
struct Recent {
    looks: VecDeque<Looks>,
}

impl Recent {
    /// The looks that an access goes on with, or begins.
    fn follow(&mut self, step: Step) -> Option<Looks> {
        match step {
            Step::Marker { goes_on: true, .. } => None,
            Step::Marker { goes_on: false, .. } => {
                self.looks.clear();
                None
            }
            Step::Access(access) if access.is_look() => Some(self.look(access)),
            Step::Access(access) => {
                if access.is_change() {
                    self.looks.clear();
                }
                None
            }
        }
    }

    /// At a place, not too long ago.
    fn at(&self, access: &Accessed) -> Option<&Looks> {
        let is_recent = |looks: &&Looks| access.at - looks.at <= LONGEST_LOOP;
        self.looks.iter().rfind(|looks| looks.place == access.place).filter(is_recent)
    }

    fn look(&mut self, access: Accessed) -> Looks {
        let Accessed { place, code, at, begin, order, .. } = access;
        let before = self.at(&access).filter(|looks| looks.code == code).copied();
        let looks = match before {
            Some(before) => {
                let again = Some(before.again.unwrap_or(begin));
                let third = before.third.or(before.again.map(|_| begin));
                let in_vain = Some(before.order);
                Looks { again, third, last: begin, at, order, in_vain, ..before }
            }
            None => {
                let (again, third, in_vain) = (None, None, None);
                let (last, deed, is_behind_change) = (begin, None, false);
                Looks {
                    place,
                    code,
                    begin,
                    again,
                    third,
                    last,
                    at,
                    order,
                    in_vain,
                    deed,
                    is_behind_change,
                }
            }
        };
        self.looks.retain(|it| it.place != place && at - it.at <= LONGEST_LOOP);
        self.looks.push_back(looks);
        looks
    }
}

/// A change of a shared place, or looks at one that somebody else has changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    /// Among the markers of all threads that of its thread before it, and behind it.
    pub(super) order: u64,
    pub(super) next_order: u64,
    pub(super) thread: ThreadId,
    pub(super) place: u64,
    pub(super) is_change: bool,
    code: Code,
    /// Where its block ends.
    pub(super) until: u64,
    /// The looks that lead to it.
    pub(super) behind: Option<Looks>,
}

impl Deed {
    /// Who does it, and where in the program.
    pub(super) fn taker(&self) -> (ThreadId, Code) {
        (self.thread, self.code)
    }

    /// Of a change that was tried before: the marker before it was last tried in vain.
    pub(super) fn tried_in_vain(&self) -> Option<u64> {
        self.behind.filter(|looks| self.is_change && looks.code == self.code)?.in_vain
    }
}

/// One thread as it goes on.
pub(super) struct Watch<'a> {
    thread: ThreadId,
    shared: &'a HashSet<u64>,
    recent: Recent,
    deeds: Vec<Deed>,
    /// The deeds from here on lie before the next marker.
    open: usize,
}

impl<'a> Watch<'a> {
    pub(super) fn new(thread: ThreadId, shared: &'a HashSet<u64>) -> Self {
        Self { thread, shared, recent: Recent::default(), deeds: Vec::new(), open: 0 }
    }

    pub(super) fn follow(&mut self, step: Step) {
        match step {
            Step::Marker { order, .. } => {
                self.recent.follow(step);
                self.close(order);
            }
            Step::Access(access) if self.shared.contains(&access.place) => {
                let before = self.recent.at(&access).copied();
                let looks = self.recent.follow(step);
                self.act(access, before, looks);
            }
            // Other looks are of no interest.
            Step::Access(access) if access.is_change() => drop(self.recent.follow(step)),
            Step::Access(_) => {}
        }
    }

    /// All that it did.
    pub(super) fn end(mut self) -> Vec<Deed> {
        self.close(u64::MAX);
        self.deeds
    }

    fn close(&mut self, order: u64) {
        for deed in &mut self.deeds[self.open..] {
            deed.next_order = order;
            // Who only looks saw what it did at some time before.
            if !deed.is_change {
                deed.order = order;
            }
        }
        self.open = self.deeds.len();
    }

    /// Something at a shared place, behind these looks, and as part of those.
    fn act(&mut self, access: Accessed, before: Option<Looks>, looks: Option<Looks>) {
        let has_spun = |looks: &Looks| looks.again.is_some();
        let looks = looks.map(|looks| Looks {
            is_behind_change: match looks.again {
                Some(_) => looks.is_behind_change,
                None => self.has_changed_before(&access),
            },
            ..looks
        });
        // An atomic instruction takes what another one has seen.
        let by_another = before.filter(|before| access.atomic.is_some() && has_spun(before));
        let behind = looks.filter(has_spun).or(by_another).or(looks);
        let deed = match behind.and_then(|behind| behind.deed) {
            Some(earlier) if access.atomic.is_none() => {
                self.deeds[earlier].behind = behind;
                self.open = self.open.min(earlier);
                earlier
            }
            earlier => {
                // It comes again: it had changed nothing.
                earlier.into_iter().for_each(|earlier| self.take_back(earlier));
                self.add(access, behind)
            }
        };
        if let (Some(looks), Some(latest)) = (looks, self.recent.looks.back_mut()) {
            *latest = Looks { deed: Some(deed), ..looks };
        }
    }

    /// In the same block.
    fn has_changed_before(&self, access: &Accessed) -> bool {
        let in_block = self.deeds.iter().rev().take_while(|deed| deed.until == access.end);
        in_block.clone().any(|deed| deed.is_change)
    }

    fn take_back(&mut self, deed: usize) {
        if deed + 1 == self.deeds.len() {
            self.deeds.truncate(deed);
            self.open = self.open.min(deed);
        } else {
            (self.deeds[deed].is_change, self.deeds[deed].behind) = (false, None);
        }
    }

    /// Returns its number.
    fn add(&mut self, access: Accessed, behind: Option<Looks>) -> usize {
        let Accessed { place, code, end: until, order, .. } = access;
        let (thread, is_change) = (self.thread, access.is_change());
        let next_order = u64::MAX;
        self.deeds.push(Deed { order, next_order, thread, place, is_change, code, until, behind });
        self.deeds.len() - 1
    }
}
