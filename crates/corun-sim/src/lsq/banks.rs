//! The banks of the first level's lines: loads of one cycle that want one bank of different sets cannot
//! both have it (Intel, Optimization Reference Manual, 3.6.1.3, of Sandy Bridge and Ivy Bridge).

use smallvec::SmallVec;

use corun_model::{CoreModel, LINE};

/// Banks used by loads that have started in this cycle.
#[derive(Debug)]
pub(super) struct Banks {
    /// Bytes of a bank as a shift, and sets of the first level; none where loads never meet.
    shape: Option<(u32, u64)>,
    /// Banks, a bit each, and their set.
    used: SmallVec<[(u64, u64); 4]>,
}

impl Banks {
    pub(super) fn of(model: &CoreModel) -> Self {
        let l1d = &model.memory.l1d;
        Self::new(model.memory.loads.banks.map(|banks| {
            let sets = l1d.kib * 1024 / (l1d.line * l1d.ways);
            ((LINE / banks.max(1)).trailing_zeros(), sets.max(1).into())
        }))
    }

    fn new(shape: Option<(u32, u64)>) -> Self {
        Self { shape, used: SmallVec::new() }
    }

    /// A cycle begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.used.clear();
    }

    /// Gives a load of so many bytes its banks, if no other one of this cycle is in their way.
    pub(super) fn take(&mut self, address: u64, bytes: u64) -> bool {
        let Some((shift, sets)) = self.shape else { return true };
        let line = u64::from(LINE);
        let (first, set) = (address % line, address / line % sets);
        let last = (first + bytes.max(1)).min(line) - 1;
        let banks = u64::MAX >> (63 - (last >> shift)) & u64::MAX << (first >> shift);
        if self.used.iter().any(|&(used, of)| used & banks != 0 && of != set) {
            return false;
        }
        self.used.push((banks, set));
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::lsq::banks::*;

    #[test]
    fn one_bank_serves_one_set_a_cycle() {
        // 16 banks of four bytes, 64 sets.
        let mut banks = Banks::new(Some((2, 64)));
        assert!(banks.take(0x1000, 8));
        assert!(!banks.take(0x1040, 4) && !banks.take(0x1044, 8), "the same banks, the next set");
        assert!(banks.take(0x1048, 8) && banks.take(0x1000, 8) && banks.take(0x5004, 4));
        assert!(banks.take(0x10bc, 64), "what lies in the next line is that line's");
        assert!(Banks::new(None).take(0x1040, 8));
    }
}
