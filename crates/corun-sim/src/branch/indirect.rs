//! Jumps and calls through registers and memory: the last target is wrong for most jumps of an
//! interpreter, the target at the same history is right for many.
//!
//! One table of tagged targets as in ITTAGE (Seznec 2011), whose base is the branch target buffer.

use super::hash::mix;
use crate::model::Indirect as Model;

/// The most that a target is trusted.
const SURE: u8 = 3;

/// Targets by branch and history.
#[derive(Debug)]
pub(super) struct Indirect {
    entries: Vec<Entry>,
    /// The bits of history that choose.
    history: u64,
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
        let entries = model.entries.max(1).next_power_of_two() as usize;
        let history = if model.history >= 64 { u64::MAX } else { (1 << model.history) - 1 };
        Self { entries: vec![Entry::default(); entries], history }
    }

    /// Where the branch goes, as this table or else the branch target buffer (`last`) says; learns
    /// where it went.
    pub(super) fn predict(
        &mut self,
        history: u64,
        at: u64,
        last: Option<u64>,
        target: u64,
    ) -> Option<u64> {
        let hashed = mix(at, history & self.history);
        let place = (hashed >> 40) as usize & (self.entries.len() - 1);
        let (entry, tag) = (&mut self.entries[place], hashed as u32);
        let is_found = entry.is_valid && entry.tag == tag;
        let predicted = if is_found { Some(entry.target) } else { last };
        if is_found && entry.target == target {
            entry.trust = (entry.trust + 1).min(SURE);
        } else if predicted != Some(target) {
            if entry.trust > 0 {
                entry.trust -= 1;
            } else {
                *entry = Entry { tag, trust: 0, is_valid: true, target };
            }
        }
        predicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_history_has_its_own_target() {
        let mut table = Indirect::new(&Model { entries: 64, history: 4 });
        for round in 0..10u64 {
            for history in 0..4 {
                let predicted = table.predict(history, 0x1000, None, 0x2000 + history);
                assert!(round == 0 || predicted == Some(0x2000 + history), "{round} {history}");
            }
        }
    }

    #[test]
    fn history_that_is_too_long_ago_does_not_choose() {
        let mut table = Indirect::new(&Model { entries: 64, history: 4 });
        table.predict(0b1_0001, 0x1000, None, 0x2000);
        assert_eq!(table.predict(0b0_0001, 0x1000, None, 0x2000), Some(0x2000));
    }

    #[test]
    fn a_branch_with_one_target_leaves_the_table_to_others() {
        let mut table = Indirect::new(&Model { entries: 1, history: 4 });
        table.predict(0, 0x1000, None, 0x2000);
        table.predict(0, 0x3000, Some(0x4000), 0x4000);
        assert_eq!(table.predict(0, 0x1000, None, 0x2000), Some(0x2000));
    }
}
