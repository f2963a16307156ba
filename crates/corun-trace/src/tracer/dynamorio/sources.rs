//! Sources of the addresses that a block touches: the words of its entries.
//!
//! While a run is looked back on only lines matter, and operands that lie close together, such as those of a row of pushes, touch
//! the same ones: two of them stand for all.

use super::line_history::LineHistory;
use crate::{Form, TouchedLine};

/// Bytes of a line.
pub(super) const LINE: usize = 64;
/// Bytes that one `rep` instruction is taken to touch at most: more than a last level holds.
const LONGEST_COPY: u64 = 1 << 28;

/// Source of an operand's values: a word and what to add to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) form: Form,
    pub(super) word: u32,
    /// All bits if the word counts, none if the address is always the same.
    pub(super) mask: u64,
    pub(super) addend: u64,
    pub(super) is_written: bool,
    pub(super) size: u8,
}

impl Source {
    /// The address of an operand that has one.
    #[inline]
    pub(super) fn address(&self, entry: &[u64]) -> u64 {
        (entry[self.word as usize] & self.mask).wrapping_add(self.addend)
    }

    /// Notes the lines that an operand touches in an entry.
    #[inline]
    pub(super) fn touch(&self, entry: &[u64], history: &mut LineHistory) {
        if self.form == Form::Single {
            return self.touch_at(self.address(entry), history);
        }
        let Some(&[count, first]) = entry.get(self.word as usize..).and_then(<[u64]>::first_chunk)
        else {
            return;
        };
        if self.form == Form::Lanes {
            let lanes = entry[self.word as usize + 1..].iter().take(count as usize);
            return lanes.for_each(|address| self.touch_at(*address, history));
        }
        let Some(steps) = (count >> 1).checked_sub(1) else { return };
        let bytes = steps.saturating_mul(self.size.into()).min(LONGEST_COPY);
        let begin = if count & 1 == 0 { first } else { first.wrapping_sub(bytes) };
        for at in (0..=bytes).step_by(LINE).chain([bytes]) {
            self.touch_at(begin.wrapping_add(at), history);
        }
    }

    /// Notes the line where an access begins: one that reaches into another line is rare, or one of a row of them.
    #[inline]
    fn touch_at(&self, address: u64, history: &mut LineHistory) {
        history.touch(TouchedLine::new(address, self.is_written, false));
    }
}

/// The sources that together touch every line that all of them touch, and say of each whether it is written.
///
/// Of accesses to addresses at known distances from each other those are left out that lie between two that are less than a
/// line apart: each shares its line with one of the two.
pub(super) fn touching(sources: &[Source]) -> Vec<Source> {
    let (mut single, mut kept): (Vec<Source>, Vec<Source>) =
        sources.iter().partition(|source| source.form == Form::Single);
    single.sort_by_key(|source| (source.word, source.addend.cast_signed(), !source.is_written));
    single.dedup_by_key(|source| (source.word, source.addend));
    let mut rest = &single[..];
    while let [first, after @ ..] = rest {
        kept.push(*first);
        let near = |other: &&Source| {
            other.word == first.word && other.addend.wrapping_sub(first.addend) < LINE as u64
        };
        let count = after.iter().take_while(near).count();
        let Some((last, between)) = after[..count].split_last() else {
            rest = after;
            continue;
        };
        let both_written = first.is_written && last.is_written;
        kept.extend(between.iter().filter(|source| source.is_written && !both_written));
        rest = &rest[count..];
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn at(word: u32, addend: u64, is_written: bool) -> Source {
        let mask = if word == 0 { 0 } else { u64::MAX };
        Source { form: Form::Single, word, mask, addend, is_written, size: 8 }
    }

    fn lines(sources: &[Source], entry: &[u64]) -> BTreeMap<u64, bool> {
        let mut history = LineHistory::new();
        sources.iter().for_each(|source| source.touch(entry, &mut history));
        history.take().iter().map(|line| (line.address(), line.is_written())).collect()
    }

    #[test]
    fn two_accesses_stand_for_a_row_of_them() {
        let pushes: Vec<_> =
            (1..=7).map(|number| at(1, 0_u64.wrapping_sub(8 * number), true)).collect();
        assert_eq!(touching(&pushes).len(), 2);
        let reads: Vec<_> = (0..64).map(|number| at(2, 8 * number, false)).collect();
        assert_eq!(touching(&reads).len(), 10);
        let repeated = Source { form: Form::Repeated, ..at(1, 0, true) };
        assert_eq!(touching(&[repeated, repeated]).len(), 2);
    }

    proptest! {
        #[test]
        fn no_line_is_left_out(
            accesses in prop::collection::vec((0_u32..3, -200_i64..200, any::<bool>()), 0..30),
            entry in prop::array::uniform3(any::<u64>()),
        ) {
            let sources: Vec<_> = accesses
                .into_iter()
                .map(|(word, addend, is_written)| at(word, addend.cast_unsigned(), is_written))
                .collect();
            let few = touching(&sources);
            prop_assert!(few.len() <= sources.len());
            prop_assert_eq!(lines(&few, &entry), lines(&sources, &entry));
        }
    }
}
