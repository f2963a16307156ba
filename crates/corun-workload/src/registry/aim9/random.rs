//! The random numbers of the original: a linear congruential generator of which it uses 15 bits.

/// Begins with the seed 1, as the original's does.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(1)
    }

    /// A number below 32768.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.0 >> 16 & 0x7fff
    }
}
