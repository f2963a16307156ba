//! Shadow tags: what a thread would find in a cache that it shares if it had that for itself: the lines that
//! left it since siblings took their places (Qureshi and Patt 2006 keep the tags of such a cache; here only
//! of what left).

use crate::memory::line::Line;

/// The lines of each set that each thread lost, the one that left last first.
#[derive(Debug)]
pub(super) struct ShadowTags {
    ways: usize,
    threads: usize,
    lost: Vec<Vec<Line>>,
}

impl ShadowTags {
    /// Of a cache that several threads share.
    pub(super) fn new(sets: u64, ways: usize, threads: usize) -> Self {
        Self { ways, threads, lost: vec![Vec::new(); sets as usize * threads] }
    }

    /// True if a thread would have the line still.
    pub(super) fn has(&self, set: u64, thread: u8, line: Line) -> bool {
        self.lost[set as usize * self.threads + usize::from(thread)].contains(&line)
    }

    /// A thread lost a line for which a sibling's came.
    pub(super) fn lose(&mut self, set: u64, thread: u8, line: Line) {
        let own = &mut self.lost[set as usize * self.threads + usize::from(thread)];
        own.insert(0, line);
        own.truncate(self.ways);
    }

    /// A line came for a thread, and perhaps one left; `held` are the lines of each thread that the set
    /// holds now. With those it lost, a thread has no more than all ways. Returns whether it would have
    /// had the line.
    pub(super) fn fill(
        &mut self,
        set: u64,
        (thread, line): (u8, Line),
        left: Option<(u8, Line)>,
        held: impl Fn(u8) -> usize,
    ) -> bool {
        let all = &mut self.lost[set as usize * self.threads..][..self.threads];
        let own = &mut all[usize::from(thread)];
        let place = own.iter().position(|lost| *lost == line);
        place.map(|place| own.remove(place));
        if let Some((owner, line)) = left {
            all[usize::from(owner)].insert(0, line);
        }
        let owner = left.map_or(thread, |(owner, _)| owner);
        for thread in [thread, owner] {
            all[usize::from(thread)].truncate(self.ways.saturating_sub(held(thread)));
        }
        place.is_some()
    }
}
