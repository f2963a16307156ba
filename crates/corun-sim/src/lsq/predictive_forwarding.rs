//! Which store gave a load its bytes the last times: if it was the same one, its data are handed over
//! before either address is known (AMD, "Security Analysis of AMD Predictive Store Forwarding", 2021).
//!
//! The same store is one of the same instruction as many stores before the load: of an instruction that stores to
//! several places alternately, the last one is the right one only at times. A pair that proves wrong costs nothing here; it
//! is trusted only after it was right.

/// The loads and stores of one thread that go together, the last one first.
#[derive(Debug)]
pub(super) struct ForwardingPredictor {
    known: Vec<Pair>,
    /// Limit of the known ones.
    most: usize,
}

/// A load, by the number of its instruction, and the store before it.
#[derive(Debug, Clone, Copy)]
struct Pair {
    load: u32,
    store: Before,
    /// True if the store was the same the time before.
    is_sure: bool,
}

/// A store before a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    /// The number of its instruction.
    pub(super) instruction: u32,
    /// Stores between the two.
    pub(super) between: u64,
}

impl ForwardingPredictor {
    /// Room for so many.
    pub(super) fn new(most: u32) -> Self {
        Self { known: Vec::with_capacity(most as usize), most: most as usize }
    }

    /// A load gets all its bytes from a store. Returns whether that was foreseen.
    pub(super) fn meet(&mut self, load: u32, store: Before) -> bool {
        let place = self.known.iter().position(|pair| pair.load == load);
        let Some(place) = place else {
            if self.most > 0 {
                self.known.truncate(self.most - 1);
                self.known.insert(0, Pair { load, store, is_sure: false });
            }
            return false;
        };
        let pair = &mut self.known[place];
        let is_same = pair.store == store;
        let is_foreseen = is_same && pair.is_sure;
        *pair = Pair { load, store, is_sure: is_same };
        self.known[..=place].rotate_right(1);
        is_foreseen
    }
}

#[cfg(test)]
mod tests {
    use crate::lsq::predictive_forwarding::*;

    fn store(instruction: u32, between: u64) -> Before {
        Before { instruction, between }
    }

    /// Of a last round over these loads, each after a store of its own, how many are foreseen.
    fn foreseen(pairs: &mut ForwardingPredictor, loads: u32) -> usize {
        (0..4)
            .map(|_| (0..loads).filter(|&load| pairs.meet(load, store(100 + load, 3))).count())
            .last()
            .unwrap_or(0)
    }

    #[test]
    fn so_many_are_known_and_no_more() {
        assert_eq!(foreseen(&mut ForwardingPredictor::new(24), 24), 24);
        assert_eq!(
            foreseen(&mut ForwardingPredictor::new(24), 25),
            0,
            "each comes when it was forgotten"
        );
        assert_eq!(foreseen(&mut ForwardingPredictor::new(0), 1), 0);
    }

    #[test]
    fn a_pair_is_trusted_after_it_was_right() {
        let mut pairs = ForwardingPredictor::new(4);
        let met = [7, 7, 7, 8, 8, 8].map(|instruction| pairs.meet(1, store(instruction, 0)));
        assert_eq!(met, [false, false, true, false, false, true]);
        let by_turns = [0, 1, 0, 1, 0, 1].map(|between| pairs.meet(2, store(7, between)));
        assert_eq!(by_turns, [false; 6]);
    }
}
