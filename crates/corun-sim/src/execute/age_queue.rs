//! Micro-ops in the order of their ages, of which the oldest leaves first and which mostly come in that order.

use crate::uops::Handle;

/// Places before the first that are kept at most before the others move up.
const MAX_GAP: usize = 64;

/// Micro-ops with their ages, the oldest first.
#[derive(Debug, Default)]
pub(super) struct AgeQueue {
    all: Vec<(u64, Handle)>,
    /// Number of them that have left.
    left: usize,
}

impl AgeQueue {
    /// The oldest.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, Handle)> {
        self.all.get(self.left).copied()
    }

    #[inline]
    pub(super) fn push(&mut self, age: u64, handle: Handle) {
        match self.all.last() {
            Some((youngest, _)) if *youngest > age => self.insert(age, handle),
            _ => self.all.push((age, handle)),
        }
    }

    fn insert(&mut self, age: u64, handle: Handle) {
        let waiting = &self.all[self.left..];
        let place = self.left + waiting.partition_point(|(other, _)| *other < age);
        match self.left.checked_sub(1) {
            // The gap has room for the older ones.
            Some(left) if place - self.left < self.all.len() - place => {
                self.all.copy_within(self.left..place, left);
                self.all[place - 1] = (age, handle);
                self.left = left;
            }
            _ => self.all.insert(place, (age, handle)),
        }
    }

    /// Number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.left
    }

    /// Number of older entries.
    pub(super) fn count_older(&self, age: u64) -> usize {
        self.all[self.left..].partition_point(|(other, _)| *other < age)
    }

    /// Takes the oldest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Handle> {
        let (_, oldest) = self.first()?;
        self.left += 1;
        if self.left == self.all.len() {
            self.all.clear();
            self.left = 0;
        } else if self.left > MAX_GAP {
            self.all.drain(..self.left);
            self.left = 0;
        }
        Some(oldest)
    }

    /// Drops the others.
    pub(super) fn keep(&mut self, is_kept: impl Fn(Handle) -> bool) {
        self.all.drain(..self.left);
        self.left = 0;
        self.all.retain(|(_, handle)| is_kept(*handle));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use crate::execute::age_queue::*;

    proptest! {
        #[test]
        fn the_oldest_leaves_first(
            steps in prop::collection::vec((any::<bool>(), any::<u16>()), 0..400),
        ) {
            let (mut queue, mut expected) = (AgeQueue::default(), BTreeMap::new());
            for (number, (comes, age)) in (0..).zip(steps) {
                // No two have one age.
                let age = u64::from(age) << 16 | number;
                if comes {
                    let handle = Handle::new(0, number);
                    queue.push(age, handle);
                    expected.insert(age, handle);
                } else {
                    prop_assert_eq!(queue.pop(), expected.pop_first().map(|(_, handle)| handle));
                }
                let first = expected.first_key_value().map(|(age, handle)| (*age, *handle));
                prop_assert_eq!(queue.first(), first);
                prop_assert_eq!(queue.count_older(age), expected.range(..age).count());
            }
            let is_late = |handle: Handle| handle >= Handle::new(0, 200);
            queue.keep(is_late);
            expected.retain(|_, handle| is_late(*handle));
            while let Some((_, handle)) = expected.pop_first() {
                prop_assert_eq!(queue.pop(), Some(handle));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
