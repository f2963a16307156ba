//! Data to work on, made up from a seed: the same on every machine, in every version and for every
//! worker, so that rates and check values can be compared, and nothing has to be brought along.

mod log;
mod prose;
mod records;

pub(crate) use log::log;
pub(crate) use prose::prose;
pub(crate) use records::records;

/// Pseudo-random numbers by SplitMix64 (Steele, Lea and Flood 2014): a few cycles each.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number, each as likely as the others.
    #[inline]
    pub(crate) fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, by multiplication (Lemire 2019) without his last correction: some
    /// numbers are more likely than others by one part in 2^64 / `bound`.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.any()) * u128::from(bound)) >> 64) as u64
    }

    /// One of `choices`, which are not empty.
    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
