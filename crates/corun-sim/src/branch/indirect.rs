//! Jumps and calls through registers and memory: the last target is wrong for most jumps of an
//! interpreter, the target at the same history is right for many.
//!
//! One table of tagged targets as in ITTAGE (Seznec 2011), whose base is the branch target buffer.

use super::hash::mix;
use crate::model::Indirect as Model;

/// The most that a target is trusted.
const SURE: u8 = 3;
/// How much one is that took another's place: two by turns would else never be right, or be right every second time, by
/// what came before them.
const REPLACED: u8 = 1;
/// Places where a target may stand.
const WAYS: usize = 4;

/// Targets by branch and history.
#[derive(Debug)]
pub(super) struct Indirect {
    sets: Vec<[Entry; WAYS]>,
    /// The sets that one branch chooses among.
    sets_of_branch: usize,
    /// The bits of history that choose.
    history: u64,
}

/// Where a branch is predicted to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) address: u64,
    /// Whether the table knew it, not the branch target buffer.
    pub(super) is_chosen: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u32,
    /// How often it was right lately; 0: it gives way.
    trust: u8,
    is_valid: bool,
    target: u64,
}

impl Indirect {
    pub(super) fn new(model: &Model) -> Self {
        let sets = |entries: u32| (entries as usize / WAYS).max(1);
        let history = if model.history >= 64 { u64::MAX } else { (1 << model.history) - 1 };
        Self {
            sets: vec![[Entry::default(); WAYS]; sets(model.entries)],
            sets_of_branch: sets(model.of_branch.unwrap_or(model.entries)),
            history,
        }
    }

    /// Where the branch goes, as this table or else the branch target buffer (`last`) says; learns
    /// where it went.
    pub(super) fn predict(
        &mut self,
        history: u64,
        at: u64,
        last: Option<u64>,
        target: u64,
    ) -> Option<Target> {
        let hashed = mix(at, history & self.history);
        let tag = hashed as u32;
        let first = (mix(at, 0) >> 40) as usize % (self.sets.len() / self.sets_of_branch).max(1);
        let set = first * self.sets_of_branch + (hashed >> 40) as usize % self.sets_of_branch;
        let set = &mut self.sets[set];
        let found = set.iter_mut().find(|entry| entry.is_valid && entry.tag == tag);
        let predicted = match &found {
            Some(entry) => Some(Target { address: entry.target, is_chosen: true }),
            None => last.map(|address| Target { address, is_chosen: false }),
        };
        let is_right = predicted.is_some_and(|predicted| predicted.address == target);
        match found {
            Some(entry) if is_right => entry.trust = (entry.trust + 1).min(SURE),
            Some(entry) if entry.trust > 0 => entry.trust -= 1,
            Some(entry) => (entry.target, entry.trust) = (target, REPLACED),
            None if is_right => {}
            None => {
                let least = set.iter_mut().min_by_key(|entry| (entry.is_valid, entry.trust));
                match least {
                    Some(entry) if entry.trust > 0 => entry.trust -= 1,
                    Some(entry) => *entry = Entry { tag, trust: 0, is_valid: true, target },
                    None => {}
                }
            }
        }
        predicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: u32, of_branch: Option<u32>) -> Indirect {
        Indirect::new(&Model { entries, of_branch, history: 16, bubble: 0 })
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
            assert!((49..=50).contains(&right), "{right} of 100 behind {before:?}");
        }
    }
}
