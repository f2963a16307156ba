//! Micro-ops by the cycle in which they have their operands.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::uops::Handle;

const SLOTS: usize = 256;

/// A ring of the next cycles, and a heap for those after it.
#[derive(Debug)]
pub(super) struct Wheel {
    slots: [Vec<Handle>; SLOTS],
    occupied: [u64; SLOTS / 64],
    /// By the cycle, and of one cycle those that were called for earlier first.
    far: BinaryHeap<Reverse<(u64, u64, Handle)>>,
    /// Number of entries ever put after the ring.
    calls: u64,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            slots: std::array::from_fn(|_| Vec::new()),
            occupied: [0; SLOTS / 64],
            far: BinaryHeap::new(),
            calls: 0,
        }
    }
}

impl Wheel {
    /// Calls for the micro-op in cycle `at`, which lies ahead of `now`.
    #[inline]
    pub(super) fn call(&mut self, now: u64, at: u64, handle: Handle) {
        if at - now < SLOTS as u64 {
            self.put(at, handle);
        } else {
            self.put_far(at, handle);
        }
    }

    #[cold]
    fn put_far(&mut self, at: u64, handle: Handle) {
        self.calls += 1;
        self.far.push(Reverse((at, self.calls, handle)));
    }

    #[inline]
    fn put(&mut self, at: u64, handle: Handle) {
        let slot = at as usize % SLOTS;
        self.slots[slot].push(handle);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Forgets the micro-ops of a thread.
    pub(super) fn forget(&mut self, thread: usize) {
        let is_other = |handle: &Handle| handle.thread() != thread;
        self.far.retain(|Reverse((_, _, handle))| is_other(handle));
        for (number, slot) in self.slots.iter_mut().enumerate() {
            slot.retain(is_other);
            if slot.is_empty() {
                self.occupied[number / 64] &= !(1 << (number % 64));
            }
        }
    }

    /// Moves the micro-ops of cycle `now` to `due`, which is empty.
    pub(super) fn take(&mut self, now: u64, due: &mut Vec<Handle>) {
        while let Some(&Reverse((at, _, handle))) = self.far.peek() {
            if at - now >= SLOTS as u64 {
                break;
            }
            self.far.pop();
            self.put(at, handle);
        }
        let slot = now as usize % SLOTS;
        if self.occupied[slot / 64] & (1 << (slot % 64)) != 0 {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            std::mem::swap(due, &mut self.slots[slot]);
        }
    }

    /// The next cycle after `now` that has micro-ops.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        let far = self.far.peek().map(|Reverse((at, ..))| *at);
        self.near(now).into_iter().chain(far).min()
    }

    /// The next one in the ring, whose slots begin again after the last.
    fn near(&self, now: u64) -> Option<u64> {
        let first = (now + 1) as usize % SLOTS;
        (0..=self.occupied.len()).find_map(|words| {
            let word = (first / 64 + words) % self.occupied.len();
            let passed = if words == 0 { first % 64 } else { 0 };
            let slots = self.occupied[word] >> passed << passed;
            let slot = word * 64 + slots.trailing_zeros() as usize;
            (slots != 0).then(|| now + 1 + (slot.wrapping_sub(first) % SLOTS) as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::execute::wheel::*;

    #[test]
    fn what_one_thread_called_for_is_forgotten_and_the_others_is_not() {
        let mut wheel = Wheel::default();
        let [mine, others] = [Handle::new(0, 7), Handle::new(1, 7)];
        for (at, handle) in [(12, mine), (13, others), (13, mine), (900, mine), (1000, others)] {
            wheel.call(10, at, handle);
        }
        wheel.forget(0);
        assert_eq!(wheel.next(10), Some(13));
        let mut due = Vec::new();
        wheel.take(13, &mut due);
        assert_eq!(due, [others]);
        assert_eq!(wheel.next(13), Some(1000));
    }
}
