//! Entries of the buffers that renaming takes from and retirement gives back, all counted in one number: what an
//! instruction needs is compared with every limit at once.

use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A buffer that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffer {
    Rob,
    IntegerRegisters,
    VectorRegisters,
    MaskRegisters,
    Loads,
    Stores,
}

/// All of them, in the order in which one is said to be full.
pub(crate) const BUFFERS: [Buffer; 6] = [
    Buffer::Rob,
    Buffer::IntegerRegisters,
    Buffer::VectorRegisters,
    Buffer::MaskRegisters,
    Buffer::Loads,
    Buffer::Stores,
];

/// Bits of a count, and one above them that no count reaches.
const BITS: u32 = 20;
/// The most entries that are counted, more than any buffer has.
const MOST: u32 = (1 << BITS) - 1;

/// So many entries of each buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Entries(u128);

/// The bit above each count.
const GUARDS: u128 = {
    let (mut all, mut buffer) = (0, 0);
    while buffer < BUFFERS.len() as u32 {
        all |= 1 << (buffer * (BITS + 1) + BITS);
        buffer += 1;
    }
    all
};

impl Entries {
    /// Entries of one buffer, [`MOST`] at most.
    #[inline]
    pub(crate) fn of(buffer: Buffer, count: u32) -> Self {
        Self(u128::from(count.min(MOST)) << (buffer as u32 * (BITS + 1)))
    }

    /// Of each buffer as many as this says.
    pub(crate) fn of_each(count: impl Fn(Buffer) -> u32) -> Self {
        let each = BUFFERS.into_iter().map(|buffer| Self::of(buffer, count(buffer)));
        each.fold(Self::default(), Self::add)
    }

    /// Entries of a buffer.
    #[inline]
    pub(crate) fn count(self, buffer: Buffer) -> u32 {
        (self.0 >> (buffer as u32 * (BITS + 1))) as u32 & MOST
    }

    /// True if these entries and those that are `taken` are no more than `limits`, in each buffer.
    #[inline]
    pub(crate) fn fit(self, taken: Self, limits: Self) -> bool {
        ((limits.0 | GUARDS) - taken.0 - self.0) & GUARDS == GUARDS
    }
}

impl Add for Entries {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Entries {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Entries {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Entries {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::uops::entries::*;

    fn entries(counts: [u32; 6]) -> Entries {
        Entries::of_each(|buffer| counts[buffer as usize])
    }

    proptest! {
        #[test]
        fn each_buffer_is_counted_by_itself(
            taken in any::<[u16; 6]>(),
            wanted in any::<[u8; 6]>(),
            limits in prop::array::uniform6(0_u32..1 << 18),
        ) {
            let (taken, wanted) = (taken.map(u32::from), wanted.map(u32::from));
            let [is_taken, is_wanted] = [taken, wanted].map(entries);
            let sum = is_taken + is_wanted;
            for ((buffer, taken), wanted) in BUFFERS.into_iter().zip(taken).zip(wanted) {
                prop_assert_eq!(sum.count(buffer), taken + wanted);
                prop_assert_eq!((sum - is_taken).count(buffer), wanted);
            }
            let fits = (0..6).all(|it| taken[it] + wanted[it] <= limits[it]);
            prop_assert_eq!(is_wanted.fit(is_taken, entries(limits)), fits);
        }
    }

    #[test]
    fn what_has_no_limit_has_a_high_one() {
        let all = Entries::of(Buffer::Loads, u32::MAX / 2);
        assert_eq!(all.count(Buffer::Loads), MOST);
        assert_eq!(BUFFERS.map(|buffer| all.count(buffer)).iter().sum::<u32>(), MOST);
    }
}
