//! Values of a trace (addresses and counts), from their fetch until their instructions are retired.

use corun_trace::Form;

use crate::uops::{DecodedInstruction, Memory as Place, filled};

/// Values that the ring holds: more than the instructions of queue and reorder buffer have.
const VALUES: usize = 1 << 14;
/// The newest values of the ring, which no step to come replaces before a wrong path has used them.
const KEPT: u32 = VALUES as u32 / 2;
/// Bytes of a repeated access of which the lines are accessed one by one.
const LONGEST_SPAN: u64 = 1 << 14;

/// Values of a thread's instructions, a ring.
#[derive(Debug)]
pub(crate) struct Values {
    ring: Box<[u64; VALUES]>,
    next: u32,
}

impl Default for Values {
    fn default() -> Self {
        Self { ring: filled(0), next: 0 }
    }
}

impl Values {
    /// The index of the value that comes next.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Adds the values of a step.
    #[inline]
    pub(crate) fn push(&mut self, values: &[u64]) {
        for &value in values {
            self.ring[self.next as usize % VALUES] = value;
            self.next = self.next.wrapping_add(1);
        }
    }

    /// The ring has room for further steps while the value at `oldest` is still needed.
    pub(crate) fn has_room(&self, oldest: u32) -> bool {
        self.next.wrapping_sub(oldest) as usize <= VALUES / 2
    }

    /// The values from `at` on are still there for a wrong path that begins where the right one goes on with `right`.
    pub(crate) fn are_kept(at: u32, right: u32) -> bool {
        (1..=KEPT).contains(&right.wrapping_sub(at))
    }

    /// The value at an index.
    #[inline]
    pub(crate) fn at(&self, at: u32) -> u64 {
        self.ring[at as usize % VALUES]
    }

    /// Begin of the values of an instruction's place in memory, if those of its first begin at `at`.
    pub(crate) fn first(&self, lowered: &DecodedInstruction, at: u32, memory: u8) -> u32 {
        lowered.memory[..usize::from(memory)].iter().fold(at, |at, place| self.after(place, at))
    }

    /// End of the values of an instruction that begin at `at`.
    #[inline]
    pub(crate) fn end(&self, lowered: &DecodedInstruction, at: u32) -> u32 {
        match lowered.digest.values {
            Some(count) => at.wrapping_add(count.into()),
            None => lowered.memory.iter().fold(at, |at, place| self.after(place, at)),
        }
    }

    fn after(&self, place: &Place, at: u32) -> u32 {
        at.wrapping_add(match place.form {
            Form::Single => 1,
            Form::Repeated => 2,
            Form::Lanes => 1 + self.at(at) as u32,
        })
    }

    /// The first byte that an access to a place touches, by its linear address, and how many it touches.
    pub(crate) fn touched(&self, place: &Place, at: u32) -> (u64, u64) {
        let size = u64::from(place.size);
        let (first, second) = (self.at(at), self.at(at.wrapping_add(1)));
        match place.form {
            Form::Single => (first, size),
            Form::Lanes => (second, if first == 0 { 0 } else { size }),
            Form::Repeated => (second, (first >> 1).saturating_mul(size).min(LONGEST_SPAN)),
        }
    }
}
