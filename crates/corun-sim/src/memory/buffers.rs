//! Misses on their way: as many at once as there are buffers.

/// Entries that are taken until a moment.
#[derive(Debug)]
pub(super) struct Buffers {
    until: Vec<u64>,
}

impl Buffers {
    pub(super) fn new(entries: u32) -> Self {
        Self { until: vec![0; entries.max(1) as usize] }
    }

    fn soonest(&self) -> usize {
        let soonest = self.until.iter().enumerate().min_by_key(|(_, until)| **until);
        soonest.map_or(0, |(entry, _)| entry)
    }

    /// From when on one is free for a miss that comes at `now`.
    pub(super) fn free(&self, now: u64) -> u64 {
        self.until[self.soonest()].max(now)
    }

    /// How many are taken at `now`.
    pub(super) fn taken(&self, now: u64) -> usize {
        self.until.iter().filter(|until| **until > now).count()
    }

    /// Whether all are taken at `now`.
    pub(super) fn are_full(&self, now: u64) -> bool {
        self.taken(now) == self.until.len()
    }

    /// Takes the one that is free first, until `end`.
    pub(super) fn take(&mut self, end: u64) {
        let entry = self.soonest();
        self.until[entry] = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(buffers.taken(110), 1);
    }
}
