//! History of the branches of one thread, in the forms in which the tables ask for it.

use crate::frontend::branch::hash::mix;

/// The longest path of branches that a table uses.
const PATH: u32 = 16;
/// A polynomial over two elements without its first term (CRC-32C, Castagnoli 1993).
const POLYNOMIAL: u32 = 0x1edc_6f41;

/// Branches after which the outcomes that leave longer lengths are gathered again.
const PERIOD: u32 = u32::BITS;

/// Bits that a taken branch adds where the history is of these.
const FOOTPRINT: u32 = 2;

/// Outcomes and path of one thread.
#[derive(Debug)]
pub(crate) struct History {
    /// True if it is of taken branches, not of the outcomes of conditional ones.
    of_taken: bool,
    /// Outcomes, or bits of taken branches, in a ring of bits.
    outcomes: Vec<u64>,
    pushed: u64,
    /// Of each length the outcomes folded to 32 bits; eight at a time, as all that follows.
    folded: Vec<[u32; 8]>,
    /// The outcomes that leave next, the next one lowest: those of [`PERIOD`] branches, and of a shorter length as many as it has.
    leaving: Vec<[u32; 8]>,
    /// Bits of an outcome in the folded history when it leaves.
    as_leaving: Vec<[u32; 8]>,
    /// Place where a new outcome enters among those that leave, for a length of up to [`PERIOD`].
    entry: Vec<[u32; 8]>,
    path: u64,
    /// The last outcomes, the youngest lowest.
    recent: u64,
    /// History that selects among targets: outcomes, and bits of targets.
    targets: u64,
}

/// A length of history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    bits: u32,
    /// Bits of an outcome in the folded history when it leaves.
    leaving: u32,
    /// The bits of the path that belong to it.
    path: u64,
}

impl Length {
    /// Of so many branches that are taken, or of so many outcomes.
    pub(crate) fn new(branches: u32, of_taken: bool) -> Self {
        let bits = if of_taken { branches * FOOTPRINT } else { branches };
        Self {
            bits,
            leaving: (0..bits).fold(1, |power, _| times_x(power)),
            path: (1 << branches.min(PATH)) - 1,
        }
    }
}

/// A polynomial's remainder times x.
#[inline]
fn times_x(remainder: u32) -> u32 {
    (remainder << 1) ^ (POLYNOMIAL & (remainder >> 31).wrapping_neg())
}

impl History {
    /// An empty one for tables of these lengths.
    pub(crate) fn new(lengths: &[Length], of_taken: bool) -> Self {
        let longest = lengths.iter().map(|length| length.bits).max().unwrap_or(0) as usize;
        let of_each = |figure: fn(&Length) -> u32| -> Vec<[u32; 8]> {
            let eight = |some: &[Length]| std::array::from_fn(|at| some.get(at).map_or(0, figure));
            lengths.chunks(8).map(eight).collect()
        };
        Self {
            of_taken,
            outcomes: vec![0; (longest / 64 + 1).next_power_of_two()],
            pushed: 0,
            folded: of_each(|_| 0),
            leaving: of_each(|_| 0),
            as_leaving: of_each(|length| length.leaving),
            entry: of_each(|length| match length.bits {
                bits @ 1..=PERIOD => 1 << (bits - 1),
                _ => 0,
            }),
            path: 0,
            recent: 0,
            targets: 0,
        }
    }

    /// Adds a conditional branch.
    #[inline]
    pub(crate) fn decide(&mut self, lengths: &[Length], at: u64, target: u64, is_taken: bool) {
        self.recent = self.recent << 1 | u64::from(is_taken);
        self.targets = self.targets << 1 | u64::from(is_taken);
        if !self.of_taken {
            self.push(lengths, is_taken);
            self.step(at);
        } else if is_taken {
            self.go(lengths, at, target);
        }
    }

    /// Adds a branch that always goes somewhere.
    #[inline]
    pub(crate) fn pass(&mut self, lengths: &[Length], at: u64, target: u64) {
        match self.of_taken {
            true => self.go(lengths, at, target),
            false => self.step(at),
        }
    }

    /// Adds a taken branch to a history of these.
    #[inline]
    fn go(&mut self, lengths: &[Length], at: u64, target: u64) {
        let footprint = mix(at, target) >> 32;
        (0..FOOTPRINT).for_each(|bit| self.push(lengths, footprint >> bit & 1 != 0));
        self.step(at);
    }

    /// Adds a bit.
    ///
    /// Folding is the remainder of the outcomes as a polynomial (Rabin 1981) rather than the exclusive
    /// or of their groups, under which a long loop looks alike in every so many iterations.
    #[inline]
    fn push(&mut self, lengths: &[Length], is_taken: bool) {
        if self.pushed.is_multiple_of(PERIOD.into()) {
            self.gather_leaving(lengths);
        }
        let taken = u32::from(is_taken);
        let figures = self.folded.iter_mut().zip(&mut self.leaving);
        for ((folded, leaving), (as_leaving, entry)) in
            figures.zip(self.as_leaving.iter().zip(&self.entry))
        {
            for at in 0..8 {
                let leaves = (leaving[at] & 1).wrapping_neg();
                folded[at] = times_x(folded[at]) ^ taken ^ (as_leaving[at] & leaves);
                leaving[at] = leaving[at] >> 1 | entry[at] & taken.wrapping_neg();
            }
        }
        let mask = self.outcomes.len() - 1;
        let (word, bit) = ((self.pushed / 64) as usize & mask, self.pushed % 64);
        self.outcomes[word] = self.outcomes[word] & !(1 << bit) | u64::from(is_taken) << bit;
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// The outcomes that leave the lengths above [`PERIOD`] with that many branches.
    fn gather_leaving(&mut self, lengths: &[Length]) {
        let mask = self.outcomes.len() - 1;
        for (leaving, length) in self.leaving.as_flattened_mut().iter_mut().zip(lengths) {
            if length.bits > PERIOD {
                let oldest = self.pushed.wrapping_sub(length.bits.into());
                let (word, bit) = ((oldest / 64) as usize, oldest % 64);
                let [first, second] =
                    [word, word.wrapping_add(1)].map(|word| u128::from(self.outcomes[word & mask]));
                *leaving = ((second << 64 | first) >> bit) as u32;
            }
        }
    }

    /// Adds a branch to the path.
    #[inline]
    fn step(&mut self, at: u64) {
        self.path = self.path << 1 | ((at ^ at >> 2 ^ at >> 5) & 1);
    }

    /// Adds the target of a branch that has several.
    pub(crate) fn turn(&mut self, target: u64) {
        self.targets = self.targets << 2 ^ (target ^ target >> 3 ^ target >> 7) & 15;
    }

    /// Folded outcomes and path, of each length.
    #[inline]
    pub(crate) fn folded<'a>(&'a self, lengths: &'a [Length]) -> impl Iterator<Item = u64> + 'a {
        self.folded
            .as_flattened()
            .iter()
            .zip(lengths)
            .map(|(&folded, length)| u64::from(folded) | (self.path & length.path) << 32)
    }

    /// The last 64 outcomes, the youngest lowest.
    pub(crate) fn recent(&self) -> u64 {
        self.recent
    }

    /// History that selects among targets, the youngest lowest.
    pub(crate) fn targets(&self) -> u64 {
        self.targets
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::frontend::branch::history::*;

    proptest! {
        #[test]
        fn what_is_folded_depends_on_the_last_outcomes_alone(
            before in prop::collection::vec(any::<bool>(), 0..300),
            last in prop::collection::vec(any::<bool>(), 130),
        ) {
            let lengths = [1, 5, 31, 32, 33, 64, 65, 130].map(|length| Length::new(length, false));
            let new = || History::new(&lengths, false);
            let (mut long, mut short) = (new(), new());
            before.into_iter().for_each(|taken| long.push(&lengths, taken));
            for &taken in &last {
                long.push(&lengths, taken);
                short.push(&lengths, taken);
            }
            let [long, short] = [&long, &short].map(|it| &it.folded.as_flattened()[..lengths.len()]);
            prop_assert_eq!(long, short);
            // Each of them distinguishes all its outcomes as long as they are not more than its bits.
            for (folded, length) in long.iter().zip([1, 5, 31, 32]) {
                let own = last[last.len() - length..].iter();
                let expected = own.fold(0, |bits, taken| bits << 1 | u32::from(*taken));
                prop_assert_eq!(*folded, expected);
            }
        }
    }
}
