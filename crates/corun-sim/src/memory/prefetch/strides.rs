//! Strides of single instructions, of any length.

use crate::memory::prefetch::reach::Reach;

/// Same strides in a row before one is believed.
const BELIEVED: u8 = 2;

/// The instructions whose strides are followed.
#[derive(Debug)]
pub(super) struct Strides(Vec<Stride>);

/// Distance between an instruction's last loads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stride {
    at: u64,
    last: u64,
    stride: i64,
    seen: u8,
    pub(super) reach: Reach,
}

impl Strides {
    pub(super) fn new(entries: u32) -> Self {
        Self(vec![Stride::default(); entries as usize])
    }

    /// The entry of an instruction.
    #[inline]
    pub(super) fn of(&mut self, at: u64) -> Option<&mut Stride> {
        let entries = self.0.len().max(1);
        self.0.get_mut((at ^ at >> 8) as usize % entries)
    }
}

impl Stride {
    /// The instruction `at` loads from an address: how far from there it will load next, as long as its strides have been
    /// the same.
    #[inline]
    pub(super) fn follow(&mut self, at: u64, address: u64) -> Option<i64> {
        if self.at != at {
            *self = Self { at, last: address, ..Self::default() };
            return None;
        }
        let stride = address.wrapping_sub(self.last).cast_signed();
        self.last = address;
        if stride == self.stride {
            self.seen = self.seen.saturating_add(1);
            self.reach.advance(1);
        } else {
            (self.stride, self.seen, self.reach) = (stride, 0, Reach::default());
        }
        (stride != 0 && self.seen >= BELIEVED).then_some(stride)
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::prefetch::strides::*;

    #[test]
    fn the_same_distance_three_times_is_believed() {
        let mut strides = Strides::new(4);
        let mut ask = |at: u64, address: u64| strides.of(at).unwrap().follow(at, address);
        let asked: Vec<_> = (0..5).map(|step| ask(8, 0x9000 + step * 0x1100)).collect();
        assert_eq!(asked, [None, None, None, Some(0x1100), Some(0x1100)]);
        assert_eq!(ask(8, 0x9000), None);
        assert_eq!(ask(9, 0x9000), None);
    }
}
