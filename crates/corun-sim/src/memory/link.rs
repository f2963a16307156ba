//! What hands over one line after another: a request waits until those before it are through.

/// Parts of a cycle that a link is counted in, so that rates need not be whole cycles.
const PARTS: f64 = 256.0;

/// A way that a line takes for some cycles.
#[derive(Debug)]
pub(super) struct Link {
    interval: u64,
    free: u64,
}

impl Link {
    /// One that takes a line each so many cycles.
    pub(super) fn new(interval: f64) -> Self {
        Self { interval: (interval * PARTS) as u64, free: 0 }
    }

    /// When a line that wants to go at `now` goes.
    pub(super) fn take(&mut self, now: u64) -> u64 {
        let now = now * PARTS as u64;
        let start = now.max(self.free);
        self.free = start + self.interval;
        start / PARTS as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_one_after_another() {
        let mut link = Link::new(2.5);
        let gone: Vec<u64> = (0..5).map(|_| link.take(10)).collect();
        assert_eq!(gone, [10, 12, 15, 17, 20]);
        assert_eq!(link.take(100), 100);
    }
}
