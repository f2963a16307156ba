//! One cache: which lines it holds, in which state, and which one leaves for a new one.

use crate::memory::background_fills::{BackgroundFills, Chance};
use crate::memory::line::Line;
use crate::memory::set_associative::position;
use crate::memory::shadow_tags::ShadowTags;
use corun_model::{CacheSize, Replacement};

/// Coherence state of a line in a cache (MESI without invalid, which is not to hold it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Others may hold it too.
    Shared,
    /// No other core holds it, and memory has the same.
    Exclusive,
    /// No other core holds it, and memory has something older.
    Modified,
}

/// State of a line in the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheLine {
    /// From when on its bytes are there.
    pub(super) ready: u64,
    pub(super) state: State,
    /// From when on another core has it; `u64::MAX` if none asked for it.
    pub(super) until: u64,
    /// True if it can still be read then.
    pub(super) stays: bool,
    /// The thread that it came for, and whether that would have had it without its siblings.
    thread: u8,
    pub(super) was_evicted: bool,
}

impl CacheLine {
    /// True if a request of cycle `now` needs nothing from elsewhere.
    pub(super) fn serves(&self, is_write: bool, now: u64) -> bool {
        let is_untouched = self.until > now.max(self.ready);
        (is_untouched || self.stays && !is_write) && !(is_write && self.state == State::Shared)
    }

    /// True if the level before it may have it, too, for as long as it likes.
    pub(super) fn may_be_copied(&self, is_write: bool) -> bool {
        self.serves(is_write, u64::MAX - 1)
    }

    /// The state in which it stays, if another core asked for it.
    pub(super) fn kept(&self) -> State {
        if self.stays { State::Shared } else { self.state }
    }
}

/// A line that had to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) line: Line,
    pub(super) state: State,
}

/// No line has this number.
const EMPTY: Line = Line::MAX;
/// Lines of cores that are not simulated have this one, all of them.
const BACKGROUND: Line = EMPTY - 1;
/// Lines that came while nothing was simulated have this one, all of them.
const EARLIER: Line = EMPTY - 2;

/// True if a place holds a line that a simulated core brought.
fn is_own_line(line: Line) -> bool {
    !matches!(line, EMPTY | BACKGROUND | EARLIER)
}

/// Re-reference interval of a line that is about to leave (Jaleel et al. 2010, two bits).
const DISTANT: u32 = 3;

/// A set-associative cache.
#[derive(Debug)]
pub(super) struct Cache {
    sets: u64,
    /// The bits of a line's number that name its set, if the sets are a power of two.
    mask: Option<u64>,
    ways: usize,
    replacement: Replacement,
    /// Sets in groups; one without room yet holds nothing.
    groups: Vec<Group>,
    /// Counts uses, for the order of the last ones.
    clock: u32,
    /// Shadow tags, for the lines that threads lost to each other, where several share it.
    shadow_tags: Option<ShadowTags>,
    /// True if it held lines before the simulation, of which none is known.
    had_earlier_lines: bool,
    /// Which cores that are not simulated use it, too.
    background_fills: Option<BackgroundFills>,
    chance: Chance,
}

/// Sets that get room together, so that a large cache of which little is used costs little.
#[derive(Debug, Clone, Default)]
struct Group {
    lines: Vec<Line>,
    /// Of each set the place that was found last.
    found: Vec<u32>,
    /// Replacement state of each.
    ranks: Vec<u32>,
    held: Vec<CacheLine>,
}

/// Sets of a group.
const GROUP: u64 = 64;

/// Place of a line, or of one that would be filled: its group, and its set's first place there.
#[derive(Debug, Clone, Copy)]
struct Set {
    group: usize,
    in_group: usize,
    first: usize,
}

impl Cache {
    pub(super) fn of(size: CacheSize) -> Self {
        let (sets, ways) = (u64::from(size.sets), size.ways as usize);
        let groups = vec![Group::default(); sets.div_ceil(GROUP) as usize];
        let mask = sets.is_power_of_two().then(|| sets - 1);
        let replacement = size.replacement;
        let (clock, chance) = (0, Chance::default());
        let (shadow_tags, background_fills) = (None, None);
        let had_earlier_lines = false;
        Self {
            sets,
            mask,
            ways,
            replacement,
            groups,
            clock,
            shadow_tags,
            had_earlier_lines,
            background_fills,
            chance,
        }
    }

    /// One into which cores that are not simulated bring so many lines a cycle.
    pub(super) fn with_background_fills(self, lines_a_cycle: f64) -> Self {
        let background_fills =
            (lines_a_cycle > 0.0).then(|| BackgroundFills::new(lines_a_cycle, self.sets));
        Self { background_fills, ..self }
    }

    /// One that so many threads share.
    pub(super) fn of_threads(size: CacheSize, threads: usize) -> Self {
        let cache = Self::of(size);
        let shadow_tags = (threads > 1).then(|| ShadowTags::new(cache.sets, cache.ways, threads));
        Self { shadow_tags, ..cache }
    }

    /// A part of the run was left out up to cycle `now`: where no line is known, there is one of that part.
    ///
    /// An unknown line is the oldest of its set. It turns out to be the first one that is asked for and not known, until none
    /// is left: the estimate of Kessler, Hill and Wood (A comparison of trace-sampling techniques for multi-megabyte
    /// caches, 1994) for a cache whose lines are still in use.
    pub(super) fn expect_earlier_lines(&mut self, now: u64) {
        self.had_earlier_lines = true;
        let oldest = self.oldest_rank();
        for Group { lines, ranks, .. } in &mut self.groups {
            for (line, rank) in lines.iter_mut().zip(ranks).filter(|(line, _)| !is_own_line(**line))
            {
                (*line, *rank) = (EARLIER, oldest);
            }
        }
        if let Some(fills) = &mut self.background_fills {
            fills.begin(now);
        }
    }

    /// Replacement state of a line that is about to leave.
    fn oldest_rank(&self) -> u32 {
        if self.replacement == Replacement::Rrip { DISTANT } else { 0 }
    }

    fn number(&self, line: Line) -> u64 {
        self.mask.map_or_else(|| line % self.sets, |mask| line & mask)
    }

    /// True if a thread would find a line that is not there, if it had the cache for itself.
    pub(super) fn was_evicted(&self, line: Line, thread: u8) -> bool {
        let set = self.number(line);
        self.shadow_tags.as_ref().is_some_and(|tags| tags.has(set, thread, line))
    }

    #[inline]
    fn set(&self, line: Line) -> Set {
        let set = self.number(line);
        let in_group = (set % GROUP) as usize;
        Set { group: (set / GROUP) as usize, in_group, first: in_group * self.ways }
    }

    /// The place of a line in its group, if it is there.
    #[inline]
    fn place(&mut self, line: Line, set: Set) -> Option<usize> {
        let group = &mut self.groups[set.group];
        let found = group.found.get_mut(set.in_group)?;
        let last = *found as usize;
        if group.lines[last] == line {
            return Some(last);
        }
        let lines = &group.lines[set.first..set.first + self.ways];
        let place = set.first + position(lines, line)?;
        *found = place as u32;
        Some(place)
    }

    /// Number of background fills that have come into a line's set up to now; each is to be
    /// [inserted](Self::insert_background).
    pub(super) fn due_background_fills(&mut self, line: Line, now: u64) -> u32 {
        let (number, ways) = (self.number(line), self.ways as u32);
        self.background_fills.as_mut().map_or(0, |fills| fills.come(number, now, ways))
    }

    /// Lets a background fill into a line's set; returns the line it evicted, unless that was itself a background fill.
    pub(super) fn insert_background(&mut self, line: Line, now: u64) -> Option<Evicted> {
        let set = self.set(line);
        self.make_room(set);
        let place = self.victim(set);
        let (line, held) = self.take_in(set, place, BACKGROUND, now, State::Exclusive, 0);
        is_own_line(line).then_some(Evicted { line, state: held.kept() })
    }

    /// Capacity in lines.
    pub(super) fn size(&self) -> usize {
        self.sets as usize * self.ways
    }

    /// A line that it holds, as it is; the replacement does not notice.
    #[inline]
    pub(super) fn peek(&mut self, line: Line) -> Option<&mut CacheLine> {
        let set = self.set(line);
        self.place(line, set).map(|place| &mut self.groups[set.group].held[place])
    }

    /// A line that it holds and that is used now.
    #[inline]
    pub(super) fn find(&mut self, line: Line) -> Option<&mut CacheLine> {
        let set = self.set(line);
        let place = self.place(line, set)?;
        self.touch(set, place);
        Some(&mut self.groups[set.group].held[place])
    }

    /// A line that it holds and that is used now. One that is not known takes the place of one of the
    /// [earlier lines](Self::expect_earlier_lines) of its set, if there is one, and is then held for `thread`.
    pub(super) fn find_or_recognise(&mut self, line: Line, thread: u8) -> Option<&mut CacheLine> {
        if self.had_earlier_lines {
            let set = self.set(line);
            self.make_room(set);
            if self.place(line, set).is_none() {
                let places = set.first..set.first + self.ways;
                let way = position(&self.groups[set.group].lines[places], EARLIER)?;
                self.take_in(set, set.first + way, line, 0, State::Exclusive, thread);
                self.note(set, set.first + way, None);
            }
        }
        self.find(line)
    }

    /// The group and the place of a line that was [found](Self::find) last in its set.
    #[inline]
    pub(super) fn last_place(&self, line: Line) -> (u32, u32) {
        let set = self.set(line);
        (set.group as u32, self.groups[set.group].found[set.in_group])
    }

    /// A line, if it is in this place of this group.
    #[inline]
    pub(super) fn held_at(&self, line: Line, (group, place): (u32, u32)) -> Option<&CacheLine> {
        let group = &self.groups[group as usize];
        let is_there = group.lines.get(place as usize) == Some(&line);
        if is_there { group.held.get(place as usize) } else { None }
    }

    /// A line in its place, used as [`find`](Self::find) does.
    #[inline]
    pub(super) fn use_at(&mut self, (group, place): (u32, u32)) -> &mut CacheLine {
        let (group, place) = (group as usize, place as usize);
        let first = place / self.ways * self.ways;
        self.touch(Set { group, in_group: first / self.ways, first }, place);
        &mut self.groups[group].held[place]
    }

    fn touch(&mut self, set: Set, place: usize) {
        let ranks = &mut self.groups[set.group].ranks;
        match self.replacement {
            Replacement::Lru | Replacement::OlderOfTwo => {
                self.clock += 1;
                ranks[place] = self.clock;
                if self.clock == u32::MAX {
                    let all = self.groups.iter_mut().flat_map(|group| &mut group.ranks);
                    all.for_each(|rank| *rank = 0);
                    self.clock = 0;
                }
            }
            Replacement::PseudoLru if ranks[place] == 1 && self.ways > 1 => {}
            Replacement::PseudoLru => {
                ranks[place] = 1;
                let ways = &mut ranks[set.first..set.first + self.ways];
                if ways.iter().all(|rank| *rank == 1) {
                    ways.fill(0);
                    ways[place - set.first] = 1;
                }
            }
            Replacement::Rrip => ranks[place] = 0,
        }
    }

    /// Takes a line in for a thread; returns the one that left for it.
    pub(super) fn insert(
        &mut self,
        line: Line,
        ready: u64,
        state: State,
        thread: u8,
    ) -> Option<Evicted> {
        let set = self.set(line);
        self.make_room(set);
        let known = self.place(line, set);
        let place = known.unwrap_or_else(|| self.victim(set));
        let (before, held) = self.take_in(set, place, line, ready, state, thread);
        // What another core has, or is about to have, is not worth a place elsewhere.
        let leaves =
            known.is_none() && is_own_line(before) && (held.until == u64::MAX || held.stays);
        let evicted = leaves.then(|| Evicted { line: before, state: held.kept() });
        if known.is_none() {
            let left = evicted.map(|evicted| (held.thread, evicted.line));
            self.note(set, place, left);
        }
        evicted
    }

    /// Puts a line into a place; returns what was there.
    fn take_in(
        &mut self,
        set: Set,
        place: usize,
        line: Line,
        ready: u64,
        state: State,
        thread: u8,
    ) -> (Line, CacheLine) {
        let group = &mut self.groups[set.group];
        let before = (group.lines[place], group.held[place]);
        group.lines[place] = line;
        let (until, was_evicted) = (u64::MAX, false);
        group.held[place] = CacheLine { ready, state, until, stays: false, thread, was_evicted };
        match self.replacement {
            Replacement::Rrip => group.ranks[place] = DISTANT - 1,
            _ => self.touch(set, place),
        }
        before
    }

    /// Notes what it means to the threads that share the cache that a line came and another one left.
    fn note(&mut self, set: Set, place: usize, left: Option<(u8, Line)>) {
        let Some(shadow_tags) = &mut self.shadow_tags else { return };
        let Group { lines, held, .. } = &mut self.groups[set.group];
        let ways = set.first..set.first + self.ways;
        let number = set.group as u64 * GROUP + (set.first / self.ways) as u64;
        let all = || lines[ways.clone()].iter().zip(&held[ways.clone()]);
        let count = |thread| {
            all()
                .filter(|(line, held)| !matches!(**line, EMPTY | EARLIER) && held.thread == thread)
                .count()
        };
        let came = (held[place].thread, lines[place]);
        held[place].was_evicted = shadow_tags.fill(number, came, left, count);
    }

    fn make_room(&mut self, set: Set) {
        let (line, rank) = match self.had_earlier_lines {
            true => (EARLIER, self.oldest_rank()),
            false => (EMPTY, 0),
        };
        let group = &mut self.groups[set.group];
        if group.lines.is_empty() {
            let empty = CacheLine {
                ready: 0,
                state: State::Shared,
                until: u64::MAX,
                stays: false,
                thread: 0,
                was_evicted: false,
            };
            let places = self.sets.min(GROUP) as usize * self.ways;
            *group = Group {
                lines: vec![line; places],
                found: (0..self.sets.min(GROUP) as u32).map(|set| set * self.ways as u32).collect(),
                ranks: vec![rank; places],
                held: vec![empty; places],
            };
        }
    }

    /// The place in a set that is given up first.
    fn victim(&mut self, set: Set) -> usize {
        let places = set.first..set.first + self.ways;
        let group = &mut self.groups[set.group];
        if let Some(free) = position(&group.lines[places.clone()], EMPTY) {
            return set.first + free;
        }
        let ranks = &mut group.ranks[places];
        let way = match self.replacement {
            Replacement::Lru => {
                let oldest = ranks.iter().min().copied().unwrap_or_default();
                ranks.iter().position(|rank| *rank == oldest)
            }
            Replacement::OlderOfTwo => {
                let two = [0; 2].map(|_| self.chance.below(self.ways as u32) as usize);
                two.into_iter().min_by_key(|&way| ranks[way])
            }
            Replacement::PseudoLru => ranks.iter().position(|rank| *rank == 0),
            Replacement::Rrip => {
                let oldest = ranks.iter().max().copied().unwrap_or(DISTANT);
                ranks.iter_mut().for_each(|rank| *rank += DISTANT.saturating_sub(oldest));
                ranks.iter().position(|rank| *rank >= DISTANT)
            }
        };
        set.first + way.unwrap_or(0)
    }

    /// Gives a line up that cannot be held beside the one that came for a thread.
    pub(super) fn evict(&mut self, line: Line, thread: u8) -> Option<Evicted> {
        let held = self.remove(line)?;
        if let Some(tags) = self.shadow_tags.as_mut().filter(|_| held.thread != thread) {
            let set = self.mask.map_or_else(|| line % self.sets, |mask| line & mask);
            tags.lose(set, held.thread, line);
        }
        let leaves = held.until == u64::MAX || held.stays;
        leaves.then(|| Evicted { line, state: held.kept() })
    }

    /// Gives a line up. Returns it as it was, if it was there.
    pub(super) fn remove(&mut self, line: Line) -> Option<CacheLine> {
        let set = self.set(line);
        let place = self.place(line, set)?;
        let group = &mut self.groups[set.group];
        group.lines[place] = EMPTY;
        Some(group.held[place])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::memory::cache::*;

    fn empty(sets: u32, ways: u32, replacement: Replacement) -> Cache {
        Cache::of(CacheSize { sets, ways, replacement })
    }

    const ALL: [Replacement; 4] =
        [Replacement::Lru, Replacement::PseudoLru, Replacement::Rrip, Replacement::OlderOfTwo];

    /// Misses of a walk over `lines` lines, once they had their chance.
    fn misses(cache: &mut Cache, lines: u64) -> usize {
        let rounds = 8;
        let walk = |cache: &mut Cache| {
            (0..lines)
                .filter(|line| {
                    let is_missed = cache.find(*line).is_none();
                    if is_missed {
                        cache.insert(*line, 0, State::Exclusive, 0);
                    }
                    is_missed
                })
                .count()
        };
        (0..rounds).map(|_| walk(cache)).last().unwrap_or_default()
    }

    #[test]
    fn lines_of_what_was_left_out_are_recognised_once() {
        for replacement in ALL {
            let mut cache = empty(64, 8, replacement).with_background_fills(0.01);
            // A line that was simulated stays itself; other cores' lines are not there before the time that is left out.
            cache.insert(7, 0, State::Modified, 0);
            cache.expect_earlier_lines(1000);
            assert_eq!(cache.due_background_fills(9, 1000), 0, "{replacement:?}");
            assert!(cache.find(9).is_none(), "{replacement:?}");
            let known =
                |cache: &mut Cache, line| cache.find_or_recognise(line, 0).map(|held| held.state);
            assert_eq!(known(&mut cache, 7), Some(State::Modified), "{replacement:?}");
            let first: Vec<_> = (512..1024).map(|line| known(&mut cache, line)).collect();
            // Seven earlier lines beside line 7.
            assert_eq!(first.iter().filter(|it| it.is_none()).count(), 1, "{replacement:?}");
            assert_eq!(known(&mut cache, 2000), None, "{replacement:?}: none is left");
            assert_eq!(known(&mut cache, 515), Some(State::Exclusive), "{replacement:?}");
        }
    }

    #[test]
    fn a_new_line_takes_the_place_of_an_earlier_one() {
        for replacement in [Replacement::Lru, Replacement::Rrip] {
            let mut cache = empty(1, 4, replacement);
            cache.expect_earlier_lines(0);
            assert_eq!(cache.insert(1, 0, State::Exclusive, 0), None);
            assert_eq!(
                (2..6).filter(|line| cache.find_or_recognise(*line, 0).is_some()).count(),
                3
            );
            assert!(cache.find(1).is_some(), "{replacement:?}");
        }
    }

    #[test]
    fn what_fits_stays_and_what_does_not_leaves() {
        for replacement in ALL {
            let mut cache = empty(64, 8, replacement);
            assert_eq!(misses(&mut cache, 512), 0, "{replacement:?}");
            let mut cache = empty(64, 8, replacement);
            assert!(misses(&mut cache, 1024) > 400, "{replacement:?}");
        }
    }

    /// Of four lines used twice, how many are still there after a walk over seven that are used once.
    fn survivors(replacement: Replacement) -> usize {
        let mut cache = empty(1, 8, replacement);
        for line in [0, 1, 2, 3, 0, 1, 2, 3].into_iter().chain(100..107) {
            if cache.find(line).is_none() {
                cache.insert(line, 0, State::Exclusive, 0);
            }
        }
        (0..4).filter(|line| cache.peek(*line).is_some()).count()
    }

    #[test]
    fn what_is_used_again_outlives_a_walk_only_by_its_re_references() {
        assert_eq!(survivors(Replacement::Lru), 1);
        assert_eq!(survivors(Replacement::Rrip), 4);
    }

    #[test]
    fn a_walk_beyond_its_size_finds_nothing_where_the_least_recent_leaves() {
        let mut cache = empty(64, 8, Replacement::Lru);
        assert_eq!(misses(&mut cache, 9 * 64), 9 * 64);
        // The older of any two stays now and then.
        let mut cache = empty(64, 8, Replacement::OlderOfTwo);
        let some = misses(&mut cache, 9 * 64);
        assert!((2 * 64..6 * 64).contains(&some), "{some}");
    }

    #[test]
    fn no_line_outlasts_background_fills_for_long() {
        for replacement in ALL {
            let mut cache = empty(64, 16, replacement).with_background_fills(1.0);
            for line in 0..64 {
                cache.due_background_fills(line, 0);
                cache.insert(line, 0, State::Exclusive, 0);
                // Used again, and again.
                cache.find(line);
                cache.find(line);
            }
            for line in 0..64 {
                for _ in 0..cache.due_background_fills(line, 1_000_000) {
                    cache.insert_background(line, 1_000_000);
                }
            }
            let left = (0..64).filter(|&line| cache.peek(line).is_some()).count();
            assert!(left <= 3, "{replacement:?}: {left}");
        }
    }

    #[test]
    fn sets_need_not_be_a_power_of_two() {
        let mut cache = empty(12, 2, Replacement::Lru);
        assert_eq!(misses(&mut cache, 24), 0);
    }

    proptest! {
        #[test]
        fn it_holds_what_came_last_and_no_more_than_it_has(
            lines in prop::collection::vec(0u64..200, 1..400),
            which in 0usize..4,
            sets in 1u32..9,
            ways in 1u32..9,
        ) {
            let mut cache = empty(sets, ways, ALL[which]);
            let mut here = std::collections::HashSet::new();
            for line in lines {
                if cache.find(line).is_none() {
                    prop_assert!(!here.contains(&line));
                    let evicted = cache.insert(line, 0, State::Shared, 0);
                    if let Some(evicted) = evicted {
                        prop_assert!(here.remove(&evicted.line));
                    }
                    here.insert(line);
                }
                prop_assert!(cache.peek(line).is_some());
                prop_assert!(here.len() <= (sets * ways) as usize);
            }
        }
    }
}
