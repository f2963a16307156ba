//! A structure of a core that its threads use as the model's policy says: one for all, or one each.

use corun_model::{Policy, WIDEST};

/// The most hardware threads of a core.
pub(crate) const MAX_THREADS: usize = WIDEST as usize;

/// Who uses a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requester {
    /// The hardware thread of the core.
    pub(crate) thread: u8,
    /// True if its siblings are halted.
    pub(crate) is_alone: bool,
}

impl Requester {
    /// The only thread of a core.
    #[cfg(test)]
    pub(crate) const ALONE: Self = Self { thread: 0, is_alone: true };
}

/// A structure, or one for each thread.
#[derive(Debug)]
pub(crate) struct ThreadShared<T> {
    /// One; one a thread; or the whole one and then one a thread.
    all: Vec<T>,
    policy: Policy,
}

impl<T> ThreadShared<T> {
    /// `make(n)` makes one of an n-th of the size.
    pub(crate) fn new(policy: Policy, threads: usize, make: impl Fn(u32) -> T) -> Self {
        let mut all = vec![make(1)];
        match policy {
            _ if threads <= 1 => {}
            Policy::Shared | Policy::Alternating => {}
            Policy::Replicated => all.extend((1..threads).map(|_| make(1))),
            Policy::Partitioned => all.extend((0..threads).map(|_| make(threads as u32))),
        }
        Self { all, policy }
    }

    /// The one that the thread uses.
    #[inline]
    pub(crate) fn of(&mut self, requester: Requester) -> &mut T {
        let place = if self.all.len() == 1 { 0 } else { self.place(requester) };
        &mut self.all[place]
    }

    fn place(&self, requester: Requester) -> usize {
        match self.policy {
            Policy::Partitioned if requester.is_alone => 0,
            Policy::Partitioned => 1 + usize::from(requester.thread),
            _ => requester.thread.into(),
        }
    }

    /// All of them.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use crate::sharing::*;

    fn used(policy: Policy) -> Vec<usize> {
        let next = std::cell::Cell::new(0);
        let number = |_| next.replace(next.get() + 1);
        let mut divided = ThreadShared::new(policy, 2, number);
        let users = [(0, true), (0, false), (1, false), (1, true)];
        users.map(|(thread, is_alone)| *divided.of(Requester { thread, is_alone })).to_vec()
    }

    #[test]
    fn each_policy_gives_a_thread_its_own_or_what_all_have() {
        assert_eq!(used(Policy::Shared), [0, 0, 0, 0]);
        assert_eq!(used(Policy::Replicated), [0, 0, 1, 1]);
        assert_eq!(used(Policy::Partitioned), [0, 1, 2, 0]);
    }

    #[test]
    fn parts_are_as_large_as_there_are_threads() {
        let mut divided = ThreadShared::new(Policy::Partitioned, 4, |n| 64 / n);
        assert_eq!(divided.each().map(|it| *it).collect::<Vec<_>>(), [64, 16, 16, 16, 16]);
        let mut one = ThreadShared::new(Policy::Partitioned, 1, |n| 64 / n);
        assert_eq!(one.each().count(), 1);
    }
}
