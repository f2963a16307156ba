//! Where a thread spins: it looks at a place again and again and does nothing else, until another thread has changed it.
//! Who waits for whom is in the recording; how often it looks meanwhile is not the program's, but the tracer's.
//!
//! Only atomic instructions have a place in the order of all threads, shortly before they are executed. What is done plainly
//! has that of its thread's last marker, and who only looks that of its next one. Who waits always has a later place than what
//! it waits for, so that somebody can always go on.

mod watch;

use std::collections::{HashMap, HashSet, VecDeque};

use corun_trace::ThreadId;
use corun_trace::format::{FormatError, Trace};

use watch::{Code, Deed, Watch, Watched};

/// A thread spins, until another one has changed the place. Positions are counted in recorded instructions of a thread, and
/// lie between two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spin {
    /// The block of a look begins here, ...
    pub(crate) begin: u64,
    /// ... that of the next look, or the same if it is not known how it looks again, ...
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
    trace: &Trace,
    threads: &[ThreadId],
) -> Result<HashMap<ThreadId, VecDeque<Spin>>, FormatError> {
    let watched = Watched::new(trace, threads)?;
    let mut deeds = Vec::new();
    for &thread in threads {
        let mut watch = Watch::new(thread, &watched.shared);
        watched.walk(thread, &mut |step| watch.follow(step))?;
        deeds.extend(watch.end());
    }
    let deeds = settled(deeds);
    let takers = takers(&deeds);
    let mut histories: HashMap<u64, History> = HashMap::new();
    let mut spins: HashMap<ThreadId, VecDeque<Spin>> = HashMap::new();
    for deed in &deeds {
        let history = histories.entry(deed.place).or_default();
        if let Some(looks) = deed.behind
            && let Some(change) = history.come_to_know(deed)
            && (looks.again.is_some() || takers.contains(&deed.taker()))
            && let Some((begin, again)) = looks.round()
        {
            let Change { thread: from, until } = change;
            let spin = Spin { begin, again, end: looks.last, from, until };
            spins.entry(deed.thread).or_default().push_back(spin);
        }
        history.follow(deed);
    }
    // Who only looks is known to have looked when it does something else.
    for own in spins.values_mut() {
        own.make_contiguous().sort_by_key(|spin| spin.begin);
    }
    Ok(spins)
}

/// Puts deeds into their order, by the markers before them. An instruction may be executed a good while behind its marker: who
/// has seen a change that has a later one comes behind that, and so does what it does up to its next marker.
fn settled(mut deeds: Vec<Deed>) -> Vec<Deed> {
    // What has the same marker before it is of one thread, and stays as it is.
    deeds.sort_by_key(|deed| deed.order);
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, deed) in deeds.iter().enumerate().filter(|(_, deed)| deed.is_change) {
        places.entry(deed.place).or_default().push(index);
    }
    let mut behind: Vec<Option<u64>> = vec![None; deeds.len()];
    for changes in places.values() {
        for (at, &index) in changes.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &deeds[changes[before]]);
            let next = changes[at + 1..].iter().map(|&next| &deeds[next]);
            behind[index] = seen_later(&deeds[index], before, next);
        }
    }
    for index in 1..deeds.len() {
        if deeds[index].order == deeds[index - 1].order {
            behind[index] = behind[index].max(behind[index - 1]);
        }
    }
    let key =
        |(deed, behind): &(Deed, Option<u64>)| (behind.unwrap_or(deed.order), behind.is_some());
    let mut all: Vec<(Deed, Option<u64>)> = deeds.into_iter().zip(behind).collect();
    all.sort_by_key(key);
    all.into_iter().map(|(deed, _)| deed).collect()
}

/// The place of the change that somebody has seen though it has a later one, of those before and behind the own.
fn seen_later<'a>(
    deed: &Deed,
    before: Option<&Deed>,
    mut next: impl Iterator<Item = &'a Deed>,
) -> Option<u64> {
    let in_vain = deed.tried_in_vain()?;
    // What was there before it tried in vain is hardly what it saw, nor what it did itself.
    let is_old = |before: &Deed| before.thread == deed.thread || before.order < in_vain;
    if !before.is_none_or(is_old) {
        return None;
    }
    let seen = next.find(|next| next.thread != deed.thread)?;
    (seen.order < deed.next_order).then_some(seen.order)
}

/// Who waits wherever it comes by: it spins there now and then, and next to never comes twice without another one's change
/// between.
fn takers(deeds: &[Deed]) -> HashSet<(ThreadId, Code)> {
    /// One of so many changes may seem to follow the thread's own, as their places in the order are not exact.
    const RARE: u32 = 20;
    #[derive(Default)]
    struct Counts {
        all: u32,
        spun: u32,
        behind_own: u32,
    }
    let mut counts: HashMap<(ThreadId, Code), Counts> = HashMap::new();
    let mut last: HashMap<u64, ThreadId> = HashMap::new();
    for deed in deeds.iter().filter(|deed| deed.is_change) {
        let before = last.insert(deed.place, deed.thread);
        let own = counts.entry(deed.taker()).or_default();
        own.all += 1;
        own.spun += u32::from(deed.behind.is_some_and(|looks| looks.again.is_some()));
        own.behind_own += u32::from(before == Some(deed.thread));
    }
    let takes = |own: &Counts| own.spun > 0 && RARE * own.behind_own <= own.all;
    counts.into_iter().filter(|(_, own)| takes(own)).map(|(taker, _)| taker).collect()
}

#[derive(Debug, Clone, Copy)]
struct Change {
    thread: ThreadId,
    until: u64,
}

/// What became of a place.
#[derive(Debug, Default)]
struct History {
    changes: Vec<Change>,
    /// How many of them each thread that looked knows of.
    known: HashMap<ThreadId, usize>,
}

impl History {
    /// The change by another thread that somebody may have waited for: the last one. Who only looks comes to know of all,
    /// and of several new ones it may have been any.
    fn come_to_know(&mut self, deed: &Deed) -> Option<Change> {
        let is_others = |change: &&Change| change.thread != deed.thread;
        if deed.is_change {
            return self.changes.iter().rfind(is_others).copied();
        }
        let known = self.known.insert(deed.thread, self.changes.len()).unwrap_or(0);
        let mut new = self.changes[known..].iter().filter(is_others);
        let last = new.next_back().copied();
        last.filter(|_| new.next_back().is_none())
    }

    fn follow(&mut self, deed: &Deed) {
        if deed.is_change {
            self.changes.push(Change { thread: deed.thread, until: deed.until });
        }
    }
}

#[cfg(test)]
mod tests {
    use corun_trace::format::{Options, Writer};
    use corun_trace::{Marker, OrderedMarker, Sink, decode};

    use super::*;

    /// A `lock cmpxchg [rax], rcx`, a `cmp qword ptr [rax], 0`, a `mov [rax], rbx` and a `lock inc qword ptr [rax]`.
    const EXCHANGE: &[u8] = &[0xf0, 0x48, 0x0f, 0xb1, 0x08];
    const LOOK: &[u8] = &[0x48, 0x83, 0x38, 0x00];
    const STORE: &[u8] = &[0x48, 0x89, 0x18];
    const INCREMENT: &[u8] = &[0xf0, 0x48, 0xff, 0x00];

    /// The last one, and behind it the first.
    const GIVE_AND_TRY: &[u8] = &[0xf0, 0x48, 0xff, 0x00, 0xf0, 0x48, 0x0f, 0xb1, 0x08];

    /// The spins of two threads that do this, in this order: which thread, by which code, where; atomic instructions have a
    /// place among all from 1 on.
    fn of(steps: &[(usize, &[u8], u64)]) -> [Vec<Spin>; 2] {
        let steps = steps.iter().zip(1..).map(|(&(thread, code, place), order)| {
            (thread, code, place, if code[0] == 0xf0 { order } else { 0 })
        });
        in_order(&steps.collect::<Vec<_>>())
    }

    /// The same with places of their own, or 0.
    fn in_order(steps: &[(usize, &[u8], u64, u64)]) -> [Vec<Spin>; 2] {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        // The exchange is also the second instruction of the last one.
        let blocks = [
            (0x1004, EXCHANGE),
            (0x2000, LOOK),
            (0x3000, STORE),
            (0x4000, INCREMENT),
            (0x1000, GIVE_AND_TRY),
        ];
        let blocks =
            blocks.map(|(at, code)| (code, writer.define(decode(at, code).unwrap()).unwrap()));
        let threads = [writer.thread(7).unwrap(), writer.thread(8).unwrap()];
        for &(thread, code, place, order) in steps {
            if order > 0 {
                let marker = Marker::Atomic;
                writer.mark(threads[thread], OrderedMarker { order, marker }).unwrap();
            }
            let (_, block) = blocks.iter().find(|(own, _)| *own == code).unwrap();
            let executed = if code == GIVE_AND_TRY { 2 } else { 1 };
            let values = vec![place; executed as usize];
            writer.execute(threads[thread], *block, executed, &values).unwrap();
        }
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        let mut spins = spins(&trace, &threads).unwrap();
        threads.map(|thread| spins.remove(&thread).unwrap_or_default().into())
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
            (1, LOOK, 0x100),
            (1, LOOK, 0x100),
            (1, LOOK, 0x100),
            (0, STORE, 0x300),
            (0, STORE, 0x100),
            (1, LOOK, 0x100),
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
    fn nobody_waits_in_front_of_what_others_wait_for() {
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
    fn who_only_looks_waits_for_the_one_change_that_it_can_have_seen() {
        // Both arrive, and the last one lets the other one go.
        let arrive = |thread| (thread, INCREMENT, 0x200);
        let look = |thread, times: usize| [(thread, LOOK, 0x100)].repeat(times);
        let phase = |last: usize, looks| {
            let first = 1 - last;
            let arrivals = [arrive(first), arrive(last)];
            [&arrivals[..], &look(first, looks), &[(last, STORE, 0x100)], &look(first, 1)].concat()
        };
        let [first, second] = of(&[phase(0, 3), phase(1, 2), phase(0, 2)].concat());
        assert_eq!(second, [spin(2, 3, 4, 0, 2), spin(9, 10, 10, 0, 8)]);
        assert_eq!(first, [spin(4, 5, 5, 1, 7)]);
        // Which of two changes was seen is not known.
        let changes = [(0, STORE, 0x100), (1, LOOK, 0x100), (0, STORE, 0x100), (1, LOOK, 0x100)];
        assert_eq!(of(&changes.repeat(2)), [[], []]);
    }

    #[test]
    fn who_does_something_else_does_not_spin() {
        // Counts what both do, ...
        let count = [(0, INCREMENT, 0x100), (0, STORE, 0x300)];
        let other = count.map(|(_, code, place)| (1, code, place));
        assert_eq!(of(&[count, other].concat().repeat(3)), [[], []]);
        // ... looks now and then, ...
        let looks = [(1, LOOK, 0x100), (1, STORE, 0x300)].repeat(3);
        let end = [(1, INCREMENT, 0x100)];
        assert_eq!(of(&[&count[..], &looks, &end].concat()), [[], []]);
        // ... or looks at what nobody else changes.
        let looks = [(1, LOOK, 0x200)].repeat(3);
        assert_eq!(of(&[&count[..], &looks, &[(1, INCREMENT, 0x200)]].concat()), [[], []]);
        // But for that, it would.
        let looks = [(1, LOOK, 0x100)].repeat(3);
        assert_eq!(of(&[&count[..], &looks, &end].concat())[1], [spin(1, 2, 2, 0, 1)]);
    }
}
