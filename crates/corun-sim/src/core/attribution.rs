//! The instructions that slots are lost to.

use rustc_hash::FxHashMap;

/// Slots that instructions cost a thread, by their place in its code and the component of the cycle stack that has them.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    slots: FxHashMap<AttributedPlace, u64>,
    /// The last instruction and what is not in the table yet: most lose slots in several cycles that follow each other.
    last: Option<(AttributedPlace, u64)>,
}

/// Block, instruction and component.
pub(crate) type AttributedPlace = (u32, u32, usize);

impl Attribution {
    /// An instruction costs so many slots more.
    #[inline]
    pub(super) fn note(&mut self, place: AttributedPlace, slots: u64) {
        match &mut self.last {
            Some((last, sum)) if *last == place => *sum += slots,
            _ => {
                self.flush();
                self.last = Some((place, slots));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((place, slots)) = self.last.take() {
            *self.slots.entry(place).or_default() += slots;
        }
    }

    /// All since the last time, the `most` that cost most.
    pub(crate) fn take(&mut self, most: usize) -> Vec<(AttributedPlace, u64)> {
        self.flush();
        let mut all: Vec<_> = self.slots.drain().collect();
        all.sort_unstable_by_key(|(place, slots)| (std::cmp::Reverse(*slots), *place));
        all.truncate(most);
        all
    }
}
