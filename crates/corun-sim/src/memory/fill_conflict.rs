//! A miss in a set of the first level that was just filled is too early, and tried again some cycles later.
//!
//! After what chains of loads through lines of one set and of two alternately take on an EPYC of Zen 4.

use crate::memory::line::Line;
use corun_model::CoreModel;

/// Sets of the first level that have just been given a line.
#[derive(Debug)]
pub(super) struct FillConflict {
    /// When each set was last given one's bytes.
    filled: Vec<u64>,
    within: u64,
    again: u64,
}

impl FillConflict {
    pub(super) fn of(model: &CoreModel) -> Self {
        let fills = &model.hierarchy.fills;
        let sets = if fills.retry_delay > 0 { model.memory.l1d.size().sets } else { 0 };
        let (within, again) = (fills.conflict_window.into(), fills.retry_delay.into());
        Self { filled: vec![0; sets as usize], within, again }
    }

    /// A line's bytes are there.
    #[inline]
    pub(super) fn fill(&mut self, line: Line, at: u64) {
        let sets = self.filled.len().max(1);
        if let Some(filled) = self.filled.get_mut(line as usize % sets) {
            *filled = at;
        }
    }

    /// When a miss that comes at `now` can begin.
    #[inline]
    pub(super) fn begin(&self, line: Line, now: u64) -> u64 {
        let filled = self.filled.get(line as usize % self.filled.len().max(1));
        let is_early = filled.is_some_and(|&at| (at..at + self.within).contains(&now));
        if is_early { now + self.again } else { now }
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::fill_conflict::*;
    use corun_model::find;

    #[test]
    fn only_the_set_that_was_filled_and_only_for_a_while() {
        let model = find("zen4").unwrap();
        let mut fill_conflict = FillConflict::of(&model);
        fill_conflict.fill(3, 100);
        for (line, now, begin) in [
            (3 + 64, 99, 99),
            (3 + 64, 100, 103),
            (3 + 64, 104, 107),
            (3 + 64, 105, 105),
            (4, 100, 100),
        ] {
            assert_eq!(fill_conflict.begin(line, now), begin, "{line} {now}");
        }
        let mut without = FillConflict::of(&find("coffee-lake").unwrap());
        without.fill(3, 100);
        assert_eq!(without.begin(3, 100), 100);
    }
}
