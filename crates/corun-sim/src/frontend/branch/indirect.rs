//! Jumps and calls through registers and memory: the last target is wrong for most jumps of an
//! interpreter, the target at the same history is right for many.
//!
//! Targets tagged by histories of several lengths as in ITTAGE (Seznec 2011), whose base is the branch target
//! buffer; all lengths share the sets of one table.

use crate::frontend::branch::hash::mix;
use corun_model::Indirect as Model;

/// The most that a target is trusted.
const SURE: u8 = 3;
/// Trust of an entry that replaced another: two alternately would else never be right, or be right every second time, by
/// what came before them.
const REPLACED: u8 = 1;
/// Places where a target may stand.
const WAYS: usize = 4;

/// Targets by branch and history.
#[derive(Debug)]
pub(crate) struct Indirect {
    entries: Vec<Entry>,
    /// The sets that one branch chooses among.
    sets_of_branch: usize,
    /// So many groups of these there are.
    groups: usize,
    /// The bits of history that choose, of each length from the shortest on.
    histories: Vec<u64>,
}

/// Predicted target of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) address: u64,
    /// True if the table knew it, not the branch target buffer.
    pub(crate) is_chosen: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u32,
    /// Count of its recent right predictions; 0: it may be replaced.
    trust: u8,
    is_valid: bool,
    target: u64,
}

/// Entries of a branch at a history.
#[derive(Debug, Default)]
struct IndirectLookup {
    /// The entry of the longest history that has one, and of the next longest.
    longest: Option<usize>,
    below: Option<usize>,
    /// Place for the next longer history: the first entry of the set, and the tag.
    longer: Option<(usize, u32)>,
}

impl Indirect {
    pub(crate) fn new(model: &Model) -> Self {
        let sets = |entries: u32| (entries as usize / WAYS).max(1);
        let (all, of_branch) =
            (sets(model.entries), sets(model.of_branch.unwrap_or(model.entries)));
        let bits = |&length: &u32| u64::MAX.checked_shr(u64::BITS - length).unwrap_or(0);
        Self {
            entries: vec![Entry::default(); all * WAYS],
            sets_of_branch: of_branch,
            groups: (all / of_branch).max(1),
            histories: model.histories.iter().map(bits).collect(),
        }
    }

    /// Predicted target, as this table or else the branch target buffer (`last`) says; learns where it went.
    pub(crate) fn predict(
        &mut self,
        history: u64,
        at: u64,
        last: Option<u64>,
        target: u64,
    ) -> Option<Target> {
        let found = self.find(history, at);
        let chosen = found.longest.map(|longest| match found.below {
            // What has not been right yet is trusted less than a shorter history.
            Some(below) if self.entries[longest].trust == 0 => below,
            _ => longest,
        });
        let predicted = match chosen {
            Some(place) => Some(Target { address: self.entries[place].target, is_chosen: true }),
            None => last.map(|address| Target { address, is_chosen: false }),
        };
        let is_right = predicted.is_some_and(|predicted| predicted.address == target);
        let is_known = found.longest.is_some_and(|place| self.entries[place].target == target);
        if let Some(place) = found.longest {
            self.entries[place].learn(target);
        }
        if let Some((first, tag)) = found.longer
            && !is_right
            && !is_known
        {
            self.allocate(first, Entry { tag, trust: 0, is_valid: true, target });
        }
        predicted
    }

    fn find(&self, history: u64, at: u64) -> IndirectLookup {
        let group = (mix(at, 0) >> 40) as usize % self.groups;
        let mut found = IndirectLookup::default();
        for (bits, length) in self.histories.iter().zip(0u64..) {
            let hashed = mix(at ^ length << 50, history & bits);
            let (set, tag) = ((hashed >> 40) as usize % self.sets_of_branch, hashed as u32);
            let first = (group * self.sets_of_branch + set) * WAYS;
            let is_it = |entry: &Entry| entry.is_valid && entry.tag == tag;
            match self.entries[first..][..WAYS].iter().position(is_it) {
                Some(way) => {
                    found.below = found.longest.replace(first + way);
                    found.longer = None;
                }
                None => found.longer = found.longer.or(Some((first, tag))),
            }
        }
        found
    }

    /// Takes the place of what is trusted least in a set, or has it trusted less.
    fn allocate(&mut self, first: usize, new: Entry) {
        let set = self.entries[first..][..WAYS].iter_mut();
        match set.min_by_key(|entry| (entry.is_valid, entry.trust)) {
            Some(entry) if entry.trust > 0 => entry.trust -= 1,
            Some(entry) => *entry = new,
            None => {}
        }
    }
}

impl Entry {
    fn learn(&mut self, target: u64) {
        if self.target == target {
            self.trust = (self.trust + 1).min(SURE);
        } else if self.trust > 0 {
            self.trust -= 1;
        } else {
            (self.target, self.trust) = (target, REPLACED);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::branch::indirect::*;

    fn table(entries: u32, of_branch: Option<u32>) -> Indirect {
        Indirect::new(&Model { entries, of_branch, histories: vec![16], bubble: 0 })
    }

    fn address(predicted: Option<Target>) -> Option<u64> {
        predicted.map(|predicted| predicted.address)
    }

    /// Of the second of two rounds over so many histories, those whose target is known.
    fn known(table: &mut Indirect, branches: &[u64], histories: u64) -> usize {
        let mut known = 0;
        for round in 0..2 {
            for history in 0..histories {
                for &at in branches {
                    let target = at + history;
                    let predicted = address(table.predict(history, at, None, target));
                    known += usize::from(round == 1 && predicted == Some(target));
                }
            }
        }
        known
    }

    #[test]
    fn each_history_has_its_own_target() {
        assert_eq!(known(&mut table(64, None), &[0x1000], 4), 4);
    }

    #[test]
    fn one_branch_has_a_part_of_the_table_and_many_have_all_of_it() {
        let branches: Vec<u64> = (0..64).map(|number| 0x1000 + 24 * number).collect();
        let all = known(&mut table(1536, Some(192)), &branches, 8);
        assert!(all > 400, "{all} of 512 of many branches");
        let one = known(&mut table(1536, Some(192)), &branches[..1], 512);
        assert!((64..=192).contains(&one), "{one} of 512 of one branch");
        let one = known(&mut table(1536, None), &branches[..1], 512);
        assert!(one > 400, "{one} of 512 of one branch that may have all");
    }

    #[test]
    fn history_that_is_too_long_ago_does_not_choose() {
        let mut table = table(64, None);
        table.predict(0b1_0001, 0x1000, None, 0x2000);
        let long = table.predict(1 << 20 | 0b1_0001, 0x1000, None, 0x2000);
        assert_eq!(long, Some(Target { address: 0x2000, is_chosen: true }));
    }

    #[test]
    fn a_branch_with_one_target_leaves_the_table_to_others() {
        let mut table = table(1, None);
        for at in 0..WAYS as u64 {
            table.predict(0, 0x1000 + at, None, 0x2000);
        }
        let last = table.predict(0, 0x3000, Some(0x4000), 0x4000);
        assert_eq!(last, Some(Target { address: 0x4000, is_chosen: false }));
        assert_eq!(address(table.predict(0, 0x1000, None, 0x2000)), Some(0x2000));
    }

    #[test]
    fn of_two_targets_by_turns_one_is_known_however_they_began() {
        for before in [&[][..], &[1], &[2, 2], &[1, 1, 1, 1]] {
            let mut table = table(64, None);
            let mut is_right =
                |target| address(table.predict(7, 0x1000, None, target)) == Some(target);
            before.iter().for_each(|&target| _ = is_right(target));
            let right = (0..100).filter(|turn| is_right(1 + turn % 2)).count();
            assert!((49..=50).contains(&right), "{right} of 100 after {before:?}");
        }
    }
}
