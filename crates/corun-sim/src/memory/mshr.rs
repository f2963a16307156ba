//! Misses on their way: as many at once as there are buffers.

/// Entries that are taken until a moment, the one that is free first in front.
#[derive(Debug)]
pub(super) struct Buffers {
    until: Vec<u64>,
}

impl Buffers {
    pub(super) fn new(entries: u32) -> Self {
        Self { until: vec![0; entries.max(1) as usize] }
    }

    /// From when on one is free for a miss that comes at `now`.
    pub(super) fn free(&self, now: u64) -> u64 {
        self.until[0].max(now)
    }

    /// True if all are taken at `now`.
    pub(super) fn are_full(&self, now: u64) -> bool {
        self.until[0] > now
    }

    /// Takes the one that is free first, until `end`.
    pub(super) fn take(&mut self, end: u64) {
        let later = self.until.iter().rposition(|until| *until <= end).unwrap_or(0);
        self.until[..=later].rotate_left(1);
        self.until[later] = end;
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::mshr::*;

    #[test]
    fn a_miss_waits_for_the_first_that_is_free() {
        let mut buffers = Buffers::new(2);
        buffers.take(100);
        assert_eq!(buffers.free(7), 7);
        buffers.take(50);
        assert!(buffers.are_full(49) && !buffers.are_full(50));
        assert_eq!(buffers.free(7), 50);
        buffers.take(120);
        assert_eq!(buffers.free(60), 100);
        assert!(buffers.are_full(99) && !buffers.are_full(110));
    }
}
