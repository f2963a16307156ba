//! A first-level cache whose lines are found by a part of their linear address (AMD's way prediction): an access to a line
//! through another address of the same memory misses, and the line is found by that address after a while. Lines are
//! looked for one after the other.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

use corun_model::{CoreModel, Microtags as Model};

/// By which linear line a line is found from a cycle on.
#[derive(Debug, Clone, Copy)]
struct Tag {
    linear: u64,
    from: u64,
}

/// By which address each line is found.
#[derive(Debug)]
pub(super) struct Microtags {
    model: Option<Model>,
    line_shift: u32,
    /// For a physical line its tag, and those that it is going to have.
    lines: HashMap<u64, SmallVec<[Tag; 2]>>,
    /// From when on another line can be looked for.
    free: u64,
}

impl Microtags {
    pub(super) fn of(model: &CoreModel) -> Self {
        Self {
            model: model.memory.microtags.clone(),
            line_shift: model.memory.l1d.line.trailing_zeros(),
            lines: HashMap::new(),
            free: 0,
        }
    }

    /// True if the core has such tags.
    pub(super) fn is_of_use(&self) -> bool {
        self.model.is_some()
    }

    /// Delay of an access that begins `now`, in cycles, and the number of its repeats.
    pub(super) fn access(&mut self, linear: u64, physical: u64, now: u64) -> (u64, u32) {
        let Some(model) = &self.model else { return (0, 0) };
        let (linear, physical) = (linear >> self.line_shift, physical >> self.line_shift);
        let tags = self.lines.entry(physical).or_insert(smallvec![Tag { linear, from: now }]);
        while tags.get(1).is_some_and(|next| next.from <= now) {
            tags.remove(0);
        }
        let youngest = tags[tags.len() - 1];
        if tags[0].linear == linear && tags[0].from <= now {
            return (0, 0);
        }
        if let Some(tag) = tags.iter().find(|tag| tag.linear == linear && tag.from > now) {
            return (tag.from - now, model.conflict_accesses);
        }
        let begin = now.max(self.free).max(youngest.from);
        self.free = begin + u64::from(model.interval);
        let from = begin + u64::from(model.latency);
        tags.push(Tag { linear, from });
        (from - now, model.conflict_accesses + model.retag_accesses)
    }
}

#[cfg(test)]
mod tests {
    use crate::lsq::microtags::*;

    fn tags() -> Microtags {
        let mut model = corun_model::find("zen4").unwrap();
        model.memory.microtags = Some(Model {
            latency: 13,
            interval: 2,
            conflict_accesses: 1,
            retag_accesses: 0,
            source: String::new(),
        });
        Microtags::of(&model)
    }

    #[test]
    fn a_line_is_found_by_one_address_at_a_time() {
        let mut tags = tags();
        assert_eq!(tags.access(0x1000, 0, 10), (0, 0), "the first address is its tag");
        assert_eq!(tags.access(0x2008, 8, 10), (13, 1));
        assert_eq!(tags.access(0x2010, 16, 12), (11, 1), "until then all that want it wait");
        assert_eq!(tags.access(0x1000, 0, 12), (0, 0), "until then it is found as before");
        assert_eq!(tags.access(0x3000, 0, 20), (16, 1), "after the one before");
        assert_eq!(tags.access(0x2000, 0, 30), (0, 0));
        assert_eq!(tags.access(0x3000, 0, 40), (0, 0));
        assert_eq!(tags.access(0x2000, 0, 40), (13, 1));
    }

    #[test]
    fn lines_are_looked_for_at_intervals() {
        let mut tags = tags();
        for line in 0..4 {
            assert_eq!(tags.access(0x1000 + 64 * line, 64 * line, 0), (0, 0));
        }
        let later = [0, 1, 2, 3].map(|line| tags.access(0x2000 + 64 * line, 64 * line, 9).0);
        assert_eq!(later, [13, 15, 17, 19]);
    }
}
