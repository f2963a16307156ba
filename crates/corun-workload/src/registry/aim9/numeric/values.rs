//! The numbers that the functions are given, in turn, over and over: both tables hold the smallest
//! positive number, which some machines take long to compute with.

use crate::generated::Random;

/// Numbers from 0 to 1: 0, 1 and the smallest positive number, then half the distance between the two
/// before.
pub(super) type Fractions = InTurn<500>;

impl Fractions {
    pub(super) fn fractions() -> Self {
        let mut table = [0.0, 1.0, SMALLEST].repeat(500);
        table.truncate(500);
        for place in 3..500 {
            table[place] = f64::abs(table[place - 2] - table[place - 1]) / 2.0;
        }
        Self::new(table)
    }
}

/// Numbers from -10 to 10, each as likely as the others; every hundredth is the smallest positive.
pub(super) type Arguments = InTurn<10_000>;

impl Arguments {
    pub(super) fn arguments() -> Self {
        let mut random = Random::new(9);
        let table = (0..10_000).map(|place| match place % 100 {
            0 => SMALLEST,
            _ => random.below((1 << 31) + 1) as f64 / f64::from(1 << 30) / 2.0 * 20.0 - 10.0,
        });
        Self::new(table.collect())
    }
}

/// The smallest positive number, which is far from normal.
const SMALLEST: f64 = f64::from_bits(1);

/// A table that begins again at its end.
pub(super) struct InTurn<const LENGTH: usize> {
    table: Box<[f64; LENGTH]>,
    taken: usize,
}

impl<const LENGTH: usize> InTurn<LENGTH> {
    fn new(table: Vec<f64>) -> Self {
        Self { table: table.try_into().expect("a table is as long as it says"), taken: 0 }
    }

    /// The next number is the first.
    pub(super) fn rewind(&mut self) {
        self.taken = 0;
    }

    /// The next number. As in the original a remainder finds it, which is a part of what is measured.
    #[inline(always)]
    pub(super) fn next(&mut self) -> f64 {
        let value = self.table[self.taken % LENGTH];
        self.taken = self.taken.wrapping_add(1);
        value
    }
}

impl Fractions {
    /// As [`next`](Self::next), by a call: where the original calls a function.
    #[inline(never)]
    pub(super) fn call_next(&mut self) -> f64 {
        self.next()
    }
}
