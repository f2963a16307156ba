//! Waits of a thread for a plain store of another one: at a barrier, for a flag, for its number at a ticket lock, for the
//! next item of a ring.
//!
//! That a thread waits is certain: it goes round and round and carries nothing with it (`rounds`). For which store it waits is
//! not recorded, as plain stores have no place in the order of all threads. It follows from the markers before and after
//! stores and waits, from how often the thread came by, and from the order of tickets.

mod effects;
mod rounds;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use corun_trace::format::{FormatError, Trace};
use corun_trace::{Access, Direction, Event, ThreadId, first_accesses};

use crate::replay::synchronisation::spins::Spin;
use rounds::{Polled, Rounds, Wait, effects};

/// Who waits where.
pub(super) type Site = (ThreadId, u64);

/// The waits of all threads, and what they may be for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    sites: BTreeMap<Site, Visits>,
    /// Of each place, its stores: by the marker before them, and in the order of their thread.
    stores: HashMap<u64, Vec<Store>>,
}

/// Visits of a thread to a place, in its order.
#[derive(Debug, Default)]
struct Visits {
    all: Vec<Visit>,
    /// As many of the first ones wait for nothing.
    free: usize,
}

/// A thread comes by, and waits or goes on.
#[derive(Debug, Clone, Copy)]
struct Visit {
    /// Range in which it waits, if it does: as in [`Spin`].
    wait: Option<(u64, u64)>,
    begin: u64,
    between: Between,
    /// True if the thread stores something there before its next marker.
    is_passed_on: bool,
    /// True if it has stored something that others may wait for in the block that begins here.
    follows_store: bool,
}

/// The markers of its thread before and after something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Between {
    before: u64,
    after: u64,
}

#[derive(Debug, Clone, Copy)]
struct Store {
    thread: ThreadId,
    /// End of its block.
    until: u64,
    between: Between,
}

impl Waits {
    /// Of these threads of a trace; `left_out` are places whose changes are known otherwise.
    pub(super) fn of(
        trace: &Trace,
        threads: &[ThreadId],
        left_out: &HashSet<u64>,
    ) -> Result<Self, FormatError> {
        if threads.len() < 2 {
            return Ok(Self::default());
        }
        let effects = effects(trace);
        let mut waits: HashMap<ThreadId, Vec<Wait>> = HashMap::new();
        for &thread in threads {
            let (mut rounds, mut position) = (Rounds::new(trace, &effects), 0);
            let mut events = trace.events(thread)?;
            while let Some(event) = events.next_event()? {
                match event {
                    Event::Marker(it) if it.marker == corun_trace::Marker::Switch => {}
                    Event::Marker(_) => rounds.interrupt(),
                    Event::Block { block, executed, values } => {
                        rounds.execute(position, block, executed, values);
                        position += u64::from(executed);
                    }
                }
            }
            waits.insert(thread, rounds.end());
        }
        let polled = waits.values().flatten().flat_map(|wait| &wait.reads);
        let polled: Vec<&Polled> = polled.filter(|it| !left_out.contains(&it.place)).collect();
        let places: HashSet<u64> = polled.iter().map(|it| it.place).collect();
        let codes: HashSet<u64> = polled.iter().map(|it| it.code).collect();
        let mut all = Self::default();
        if !places.is_empty() {
            for &thread in threads {
                all.follow(trace, thread, &waits[&thread], &places, &codes)?;
            }
        }
        all.settle();
        Ok(all)
    }

    /// Notes what a thread does at places where some thread waits.
    fn follow(
        &mut self,
        trace: &Trace,
        thread: ThreadId,
        waits: &[Wait],
        places: &HashSet<u64>,
        codes: &HashSet<u64>,
    ) -> Result<(), FormatError> {
        let filter = Filter::of(places);
        let mut waits = waits.iter().peekable();
        let (mut position, mut before) = (0, 0);
        let mut open: Vec<OpenAccess> = Vec::new();
        let mut events = trace.events(thread)?;
        while let Some(event) = events.next_event()? {
            let (id, executed, values) = match event {
                Event::Marker(it) => {
                    before = it.order;
                    self.close(thread, &mut open, it.order);
                    continue;
                }
                Event::Block { block, executed, values } => (block, executed, values),
            };
            let begin = position;
            position += u64::from(executed);
            while waits.peek().is_some_and(|wait| wait.last() < begin) {
                waits.next();
            }
            if !values.iter().any(|place| filter.may_have(*place)) {
                continue;
            }
            let block = trace.block(id);
            let between = Between { before, after: u64::MAX };
            let mut follows_store = false;
            for access in first_accesses(block, executed, values) {
                let Access { instruction, address: place, direction, .. } = access;
                if !places.contains(&place) {
                    continue;
                }
                if direction != Direction::Read {
                    follows_store = true;
                    let visits = self.sites.get_mut(&(thread, place));
                    if let Some(last) = visits.and_then(|visits| visits.all.last_mut()) {
                        last.is_passed_on |= last.between.before == before;
                    }
                    let stores = self.stores.entry(place).or_default();
                    open.push(OpenAccess { place, is_store: true, index: stores.len() });
                    stores.push(Store { thread, until: position, between });
                    continue;
                }
                let code = block.addresses().nth(instruction as usize).unwrap_or(0);
                let wait = waits.peek().filter(|wait| wait.begin <= begin);
                let polled = wait.and_then(|wait| {
                    let own = wait.reads.iter().find(|it| it.place == place)?;
                    Some((wait, wait.end(own)))
                });
                let is_again = polled.is_some_and(|(wait, end)| begin > wait.begin && begin <= end);
                if is_again || !codes.contains(&code) {
                    continue;
                }
                let wait = polled.filter(|(wait, _)| wait.begin == begin);
                let visits = &mut self.sites.entry((thread, place)).or_default().all;
                open.push(OpenAccess { place, is_store: false, index: visits.len() });
                visits.push(Visit {
                    wait: wait.map(|(wait, end)| (wait.again, end)),
                    begin,
                    between,
                    is_passed_on: false,
                    follows_store,
                });
            }
        }
        Ok(())
    }

    /// A marker ends what lies before it.
    fn close(&mut self, thread: ThreadId, open: &mut Vec<OpenAccess>, order: u64) {
        for OpenAccess { place, is_store, index } in open.drain(..) {
            let between = if is_store {
                self.stores.get_mut(&place).map(|stores| &mut stores[index].between)
            } else {
                self.sites.get_mut(&(thread, place)).map(|visits| &mut visits.all[index].between)
            };
            between.into_iter().for_each(|between| between.after = order);
        }
    }

    /// Puts stores into their order, and forgets where nobody waits or nobody else stores anything.
    fn settle(&mut self) {
        for stores in self.stores.values_mut() {
            // Those of one thread between two markers stay in their order.
            stores.sort_by_key(|store| store.between.before);
        }
        let stores = &self.stores;
        self.sites.retain(|(thread, place), visits| {
            let others = stores.get(place).into_iter().flatten();
            visits.all.iter().any(|visit| visit.wait.is_some())
                && others.clone().any(|store| store.thread != *thread)
        });
    }

    /// The spins of all threads, in their order.
    pub(super) fn spins(&self) -> HashMap<ThreadId, Vec<(Spin, u64)>> {
        let mut spins: HashMap<ThreadId, Vec<(Spin, u64)>> = HashMap::new();
        for (&(thread, place), visits) in &self.sites {
            let stores = self.stores[&place].iter().filter(|store| store.thread != thread);
            let stores: Vec<&Store> = stores.collect();
            let own = spins.entry(thread).or_default();
            own.extend(visits.spins(&stores).map(|spin| (spin, place)));
        }
        for own in spins.values_mut() {
            own.sort_by_key(|(spin, _)| spin.begin);
            own.dedup_by_key(|(spin, _)| spin.begin);
        }
        spins
    }

    /// Lets a thread find something at a place before any other one stores it, since it would wait forever otherwise: it puts
    /// items into a ring, which has room for some at first. Of several, the thread that came by most often before it waited
    /// for the first time. Whether there is one.
    pub(super) fn relax(&mut self, endless: &HashSet<Site>) -> bool {
        let first_wait = |visits: &Visits| visits.all.iter().position(|it| it.wait.is_some());
        let sites = self.sites.iter_mut().filter(|(site, _)| endless.contains(site));
        let sites = sites.filter(|(_, visits)| visits.free == 0 && !visits.take_turns());
        let all = sites.filter_map(|(_, visits)| Some((first_wait(visits)?, visits)));
        let Some((free, visits)) = all.filter(|(free, _)| *free > 0).max_by_key(|(free, _)| *free)
        else {
            return false;
        };
        visits.free = free;
        true
    }
}

impl Visits {
    /// True if a thread stores something where it has waited, and so lets the next one in: a ticket lock.
    fn take_turns(&self) -> bool {
        let passed_on = self.all.iter().filter(|visit| visit.is_passed_on).count();
        10 * passed_on >= 9 * self.all.len()
    }

    /// Which store ends each wait, of these of all other threads.
    fn spins(&self, stores: &[&Store]) -> impl Iterator<Item = Spin> {
        let take_turns = self.take_turns();
        let is_possible =
            |visit: &Visit, store: &&&Store| store.between.after > visit.between.before;
        let first = self.all.first();
        let before = first.and_then(|first| stores.iter().position(|it| is_possible(first, &it)));
        let before = before.unwrap_or(stores.len());
        // It comes by once for each: then it waits each time, even if it need not have when it was recorded.
        let is_one_for_one = stores.len() - before == self.all.len();
        let mut seen: Option<usize> = None;
        let spin = |(number, visit): (usize, &Visit)| {
            let may_wait = visit.wait.is_some() || !visit.follows_store;
            let after = seen.map_or(0, |seen| seen + 1);
            let of_turn = || stores.iter().rposition(|it| it.between.before < visit.between.before);
            let of_number = || {
                let mut possible = (after..stores.len())
                    .filter(|index| is_possible(visit, &&stores[*index]))
                    .filter(|index| stores[*index].between.before < visit.between.after);
                let least = possible.next()?;
                let most = possible.next_back().unwrap_or(least);
                let expected = before + number.checked_sub(self.free)?;
                Some(expected.clamp(least, most))
            };
            let chosen = match take_turns {
                true => of_turn(),
                false if visit.wait.is_some() || is_one_for_one => of_number(),
                false => None,
            };
            let index = chosen.filter(|_| may_wait)?;
            seen = Some(index);
            let (again, end) = visit.wait.unwrap_or((visit.begin, visit.begin));
            let Store { thread: from, until, .. } = *stores[index];
            Some(Spin { begin: visit.begin, again, end, from, until })
        };
        let spins: Vec<Spin> = self.all.iter().enumerate().filter_map(spin).collect();
        spins.into_iter()
    }
}

/// An access whose next marker is not read yet.
struct OpenAccess {
    place: u64,
    is_store: bool,
    index: usize,
}

/// Tells at once of most addresses that none of the places is there.
struct Filter(Box<[bool; 1 << 12]>);

impl Filter {
    fn of(places: &HashSet<u64>) -> Self {
        let mut filter = Self(Box::new([false; 1 << 12]));
        places.iter().for_each(|place| filter.0[Self::index(*place)] = true);
        filter
    }

    fn may_have(&self, place: u64) -> bool {
        self.0[Self::index(place)]
    }

    fn index(place: u64) -> usize {
        (place >> 2) as usize % (1 << 12)
    }
}
