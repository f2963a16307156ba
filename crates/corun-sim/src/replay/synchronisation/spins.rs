//! Spins of a thread: it polls at a place again and again and does nothing else, until another thread has changed it, and
//! then changes it by an atomic instruction. Who waits for whom is in the recording; how often it polls meanwhile is not
//! the program's, but the tracer's.
//!
//! Only atomic instructions have a place in the order of all threads, shortly before they are executed. A plain store, by
//! which a lock may be left, has that of its thread's last marker.

mod watch;

use std::collections::{HashMap, HashSet, VecDeque};

use corun_trace::ThreadId;
use corun_trace::format::FormatError;

pub(super) use watch::Watched;
use watch::{Change, Code, Watch};

/// A thread spins, until another one has changed the place. Positions are counted in recorded instructions of a thread, and
/// lie between two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spin {
    /// The block of a poll begins here, ...
    pub(crate) begin: u64,
    /// ... that of the next poll, or the same if it is not known how it polls again, ...
    pub(crate) again: u64,
    /// ... and that of the last one, which sees the change.
    pub(crate) end: u64,
    /// Who changes it, ...
    pub(crate) from: ThreadId,
    /// ... and where the block ends that does.
    pub(crate) until: u64,
}

/// The spins of each of these threads, in its order.
pub(super) fn spins(
    watched: &Watched<'_>,
    threads: &[ThreadId],
) -> Result<HashMap<ThreadId, VecDeque<Spin>>, FormatError> {
    let mut changes = Vec::new();
    if !watched.shared.is_empty() {
        for &thread in threads {
            let mut watch = Watch::new(thread, &watched.shared);
            watched.walk(thread, &mut |step| watch.follow(step))?;
            changes.extend(watch.end());
        }
    }
    let changes = settled(changes);
    let takers = takers(&changes);
    // The last change of a place by each thread, the latest last.
    let mut last: HashMap<u64, Vec<&Change>> = HashMap::new();
    let mut spins: HashMap<ThreadId, VecDeque<Spin>> = HashMap::new();
    for change in &changes {
        let before = last.entry(change.place).or_default();
        if let Some(polls) = change.polls_before
            && (polls.has_spun() || takers.contains(&change.taker()))
            && let Some((begin, again)) = polls.round()
            && let Some(other) = before.iter().rfind(|other| other.thread != change.thread)
        {
            let spin =
                Spin { begin, again, end: polls.last, from: other.thread, until: other.until };
            spins.entry(change.thread).or_default().push_back(spin);
        }
        before.retain(|other| other.thread != change.thread);
        before.push(change);
    }
    Ok(spins)
}

/// Puts changes into their order, by the markers before them. An instruction may be executed a good while after its marker:
/// who has seen a change that has a later one comes after that, and so does what it changes up to its next marker.
fn settled(mut all: Vec<Change>) -> Vec<Change> {
    // What has the same marker before it is of one thread, and stays as it is.
    all.sort_by_key(|change| change.order);
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, change) in all.iter().enumerate() {
        places.entry(change.place).or_default().push(index);
    }
    let mut after: Vec<Option<u64>> = vec![None; all.len()];
    for changes in places.values() {
        for (at, &index) in changes.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &all[changes[before]]);
            let next = changes[at + 1..].iter().map(|&next| &all[next]);
            after[index] = seen_later(&all[index], before, next);
        }
    }
    for index in 1..all.len() {
        if all[index].order == all[index - 1].order {
            after[index] = after[index].max(after[index - 1]);
        }
    }
    let mut all: Vec<(Change, Option<u64>)> = all.into_iter().zip(after).collect();
    all.sort_by_key(|(change, after)| (after.unwrap_or(change.order), after.is_some()));
    all.into_iter().map(|(change, _)| change).collect()
}

/// The place of the change that a thread has seen though it has a later one, of those before and after the own.
fn seen_later<'a>(
    own: &Change,
    before: Option<&Change>,
    next: impl Iterator<Item = &'a Change>,
) -> Option<u64> {
    let in_vain = own.tried_in_vain()?;
    // What was there before it tried in vain is hardly what it saw, nor what it did itself.
    let is_old = |before: &Change| before.thread == own.thread || before.order < in_vain;
    if !before.is_none_or(is_old) {
        return None;
    }
    let mut in_time = next.take_while(|next| next.order < own.next_order);
    in_time.find(|next| next.thread != own.thread).map(|seen| seen.order)
}

/// Who waits wherever it comes by: it spins there now and then, and next to never changes the place twice without another one's
/// change between.
fn takers(changes: &[Change]) -> HashSet<(ThreadId, Code)> {
    /// One of so many changes may seem to follow the thread's own, as their places in the order are not exact.
    const RARE: u32 = 20;
    #[derive(Default)]
    struct Counts {
        all: u32,
        spun: u32,
        after_own: u32,
    }
    let mut counts: HashMap<(ThreadId, Code), Counts> = HashMap::new();
    let mut last: HashMap<u64, ThreadId> = HashMap::new();
    for change in changes {
        let before = last.insert(change.place, change.thread);
        let own = counts.entry(change.taker()).or_default();
        own.all += 1;
        own.spun += u32::from(change.polls_before.is_some_and(|polls| polls.has_spun()));
        own.after_own += u32::from(before == Some(change.thread));
    }
    let takes = |own: &Counts| own.spun > 0 && RARE * own.after_own <= own.all;
    counts.into_iter().filter(|(_, own)| takes(own)).map(|(taker, _)| taker).collect()
}

#[cfg(test)]
mod tests {
    use crate::replay::synchronisation::made::{
        EXCHANGE, GIVE_AND_TRY, INCREMENT, MadeStep, POLL, STORE, in_this_order, recorded,
    };
    use crate::replay::synchronisation::spins::*;

    /// The spins of two threads that do this, in this order.
    fn of(steps: &[(usize, &'static [u8], u64)]) -> [Vec<Spin>; 2] {
        in_order(&in_this_order(steps))
    }

    fn in_order(steps: &[MadeStep]) -> [Vec<Spin>; 2] {
        let (trace, threads) = recorded(2, steps);
        let watched = Watched::new(&trace, &threads).unwrap();
        let mut spins = spins(&watched, &threads).unwrap();
        [0, 1].map(|thread| spins.remove(&threads[thread]).unwrap_or_default().into())
    }

    fn spin(begin: u64, again: u64, end: u64, from: u32, until: u64) -> Spin {
        Spin { begin, again, end, from: ThreadId(from), until }
    }

    #[test]
    fn who_tries_again_and_again_waits_for_who_changed_the_place_before() {
        let [first, second] = of(&[
            (0, EXCHANGE, 0x100),
            (1, STORE, 0x300),
            (1, EXCHANGE, 0x100),
            (1, EXCHANGE, 0x100),
            (0, STORE, 0x300),
            (0, EXCHANGE, 0x100),
            (1, EXCHANGE, 0x100),
            (0, STORE, 0x300),
            (0, EXCHANGE, 0x100),
        ]);
        assert_eq!(second, [spin(2, 3, 3, 0, 3)]);
        assert_eq!(first, [], "at once");
    }

    #[test]
    fn a_lock_that_is_left_by_a_plain_store_is_taken_behind_it() {
        let [first, second] = of(&[
            (0, INCREMENT, 0x100),
            (1, INCREMENT, 0x100),
            (1, POLL, 0x100),
            (1, POLL, 0x100),
            (1, POLL, 0x100),
            (0, STORE, 0x300),
            (0, STORE, 0x100),
            (1, POLL, 0x100),
            (1, INCREMENT, 0x100),
            (1, STORE, 0x100),
            (0, INCREMENT, 0x100),
        ]);
        assert_eq!(second, [spin(2, 3, 4, 0, 3)]);
        assert_eq!(first, []);
    }

    #[test]
    fn who_always_waits_at_an_instruction_waits_there_when_it_need_not_have() {
        // Each takes its turn and gives it to the other one: by an exchange, and by an increment.
        let turn = |thread, tries| {
            let tries = [(thread, EXCHANGE, 0x100)].repeat(tries);
            [&tries[..], &[(thread, STORE, 0x300), (thread, INCREMENT, 0x100)]].concat()
        };
        let turns = [turn(0, 1), turn(1, 3), turn(0, 1), turn(1, 1), turn(0, 2)].concat();
        let [first, second] = of(&turns);
        assert_eq!(second, [spin(1, 2, 2, 0, 3), spin(5, 5, 5, 0, 6)]);
        assert_eq!(first, [spin(3, 3, 3, 1, 5), spin(6, 7, 7, 1, 8)]);
        // A lock that one takes twice in a row is often free.
        let lock = |thread, tries| {
            let tries = [(thread, EXCHANGE, 0x100)].repeat(tries);
            [&tries[..], &[(thread, STORE, 0x100)]].concat()
        };
        let locks = [lock(0, 1), lock(1, 3), lock(1, 1), lock(0, 1), lock(1, 1)].concat();
        assert_eq!(of(&locks), [vec![], vec![spin(1, 2, 2, 0, 2)]]);
    }

    #[test]
    fn no_thread_waits_in_front_of_what_others_wait_for() {
        // They give the turn to the other one and try again, without a branch between.
        let [first, second] = of(&[
            (0, EXCHANGE, 0x100),
            (1, EXCHANGE, 0x100),
            (1, EXCHANGE, 0x100),
            (0, STORE, 0x300),
            (0, GIVE_AND_TRY, 0x100),
            (1, EXCHANGE, 0x100),
            (0, EXCHANGE, 0x100),
            (1, STORE, 0x300),
            (1, GIVE_AND_TRY, 0x100),
            (0, EXCHANGE, 0x100),
            (1, EXCHANGE, 0x100),
            (0, STORE, 0x300),
            (0, GIVE_AND_TRY, 0x100),
            (1, EXCHANGE, 0x100),
        ]);
        assert_eq!(second, [spin(1, 2, 2, 0, 4), spin(6, 7, 7, 0, 9)]);
        assert_eq!(first, [spin(4, 5, 5, 1, 6)]);
    }

    #[test]
    fn who_has_seen_a_change_comes_behind_it_whatever_their_markers_say() {
        // The second thread tries at 3 and at 5, and sees what the first one began to do at 6.
        let mut early = vec![
            (0, EXCHANGE, 0x100, 1),
            (0, STORE, 0x300, 0),
            (1, EXCHANGE, 0x100, 3),
            (1, EXCHANGE, 0x100, 5),
            (1, STORE, 0x100, 0),
            (0, INCREMENT, 0x100, 6),
            (1, EXCHANGE, 0x100, 9),
        ];
        let [first, second] = in_order(&early);
        assert_eq!((first, second), (vec![], vec![spin(0, 1, 1, 0, 3)]));
        // Unless it has done something since that comes before it, too.
        early[6].3 = 6;
        early[5].3 = 7;
        assert_eq!(in_order(&early)[1], [spin(0, 1, 1, 0, 1)]);
    }

    #[test]
    fn a_loop_that_does_something_else_each_time_is_no_spin() {
        // It polls at the place over and over, but reads something else in between.
        let read = |place| [(1, POLL, 0x100), (1, POLL, place)];
        let work: Vec<_> = (0..5).flat_map(|round| read(0x1000 + 8 * round)).collect();
        let (begin, end) = ([(0, INCREMENT, 0x100)], [(1, INCREMENT, 0x100)]);
        assert_eq!(of(&[&begin[..], &work, &end].concat()), [[], []]);
        let same: Vec<_> = (0..5).flat_map(|_| read(0x1000)).collect();
        assert_eq!(of(&[&begin[..], &same, &end].concat())[1], [spin(2, 4, 8, 0, 1)]);
    }

    #[test]
    fn who_does_something_else_does_not_spin() {
        // Counts what both do, ...
        let count = [(0, INCREMENT, 0x100), (0, STORE, 0x300)];
        let other = count.map(|(_, code, place)| (1, code, place));
        assert_eq!(of(&[count, other].concat().repeat(3)), [[], []]);
        // ... polls now and then, ...
        let polls = [(1, POLL, 0x100), (1, STORE, 0x300)].repeat(3);
        let end = [(1, INCREMENT, 0x100)];
        assert_eq!(of(&[&count[..], &polls, &end].concat()), [[], []]);
        // ... or polls a place that no other thread changes.
        let polls = [(1, POLL, 0x200)].repeat(3);
        assert_eq!(of(&[&count[..], &polls, &[(1, INCREMENT, 0x200)]].concat()), [[], []]);
        // But for that, it would.
        let polls = [(1, POLL, 0x100)].repeat(3);
        assert_eq!(of(&[&count[..], &polls, &end].concat())[1], [spin(1, 2, 2, 0, 1)]);
    }
}
