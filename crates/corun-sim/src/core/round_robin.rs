//! Whose turn it is, where threads alternate.

/// The thread that had the last turn. One that has no use for its turn leaves it to the next, and the round goes on
/// after that one, so that of many threads each has a part of what a stalled one leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundRobin {
    last: usize,
}

impl RoundRobin {
    /// The first turn is this thread's.
    pub(crate) fn beginning(first: usize, threads: usize) -> Self {
        Self { last: (first + threads - 1) % threads.max(1) }
    }

    /// The `place`-th of the threads, from 0 on, the one after the last turn first.
    #[inline]
    pub(crate) fn thread(self, place: usize, threads: usize) -> usize {
        let thread = self.last + 1 + place;
        if thread < threads { thread } else { thread - threads }
    }

    /// A thread had it.
    #[inline]
    pub(crate) fn take(&mut self, thread: usize) {
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
