//! Whose turn it is, where threads alternate.

/// The thread that had the last turn. One that has no use for its turn leaves it to the next, and the round goes on
/// after that one, so that of many threads each has a part of what a stalled one leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundRobin {
    last: usize,
}

/// The turns of the stages: to predict, to fetch, to rename, to retire, and to write to the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns {
    pub(super) predict: RoundRobin,
    pub(super) fetch: RoundRobin,
    pub(super) rename: RoundRobin,
    pub(super) retire: RoundRobin,
    pub(super) commit: RoundRobin,
}

impl Turns {
    /// The first turn of each stage is this thread's.
    pub(super) fn beginning(first: usize, threads: usize) -> Self {
        let turn = RoundRobin::beginning(first, threads);
        Self { predict: turn, fetch: turn, rename: turn, retire: turn, commit: turn }
    }
}

impl RoundRobin {
    /// The first turn is this thread's.
    fn beginning(first: usize, threads: usize) -> Self {
        Self { last: (first + threads - 1) % threads.max(1) }
    }

    /// The `place`-th of the threads, from 0 on, the one after the last turn first.
    #[inline]
    pub(super) fn thread(self, place: usize, threads: usize) -> usize {
        let thread = self.last + 1 + place;
        if thread < threads { thread } else { thread - threads }
    }

    /// A thread had it.
    #[inline]
    pub(super) fn take(&mut self, thread: usize) {
        self.last = thread;
    }
}

#[cfg(test)]
mod tests {
    use crate::core::round_robin::*;

    #[test]
    fn everyone_is_next_once() {
        let mut turn = RoundRobin::beginning(1, 3);
        let order = |turn: RoundRobin| [0, 1, 2].map(|place| turn.thread(place, 3));
        assert_eq!(order(turn), [1, 2, 0]);
        turn.take(2);
        assert_eq!(order(turn), [0, 1, 2]);
    }
}
