//! Where the pages of a process lie in memory: anywhere, by a seed, and nowhere that another one has.

/// Bits of an offset in a page.
pub(super) const PAGE_SHIFT: u32 = 12;
/// Bits of an offset in a huge page.
const HUGE_SHIFT: u32 = 21;
/// Bits of a physical address.
const PHYSICAL_BITS: u32 = 52;

/// The pages of one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages {
    key: u64,
    /// That of the pages which hold its code.
    text: u64,
    /// Bits of an offset in its pages.
    shift: u32,
    /// Whether all of them are one page of memory.
    are_one: bool,
    /// Tells the process's code from that of others.
    space: u64,
}

impl Pages {
    /// Of process `process`; the same for the same seed.
    pub(crate) fn of(process: u32, seed: u64, are_huge: bool) -> Self {
        let key = mixed(seed ^ u64::from(process).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let space = if process == 0 { 0 } else { mixed(process.into()) };
        Self {
            key,
            text: key,
            shift: if are_huge { HUGE_SHIFT } else { PAGE_SHIFT },
            are_one: false,
            space,
        }
    }

    /// Pages of which each is the same page of memory.
    pub(crate) fn one() -> Self {
        Self { key: 0, text: 0, shift: PAGE_SHIFT, are_one: true, space: 0 }
    }

    /// A number that only threads of this process have; 0 if that does not matter.
    pub(crate) fn space(self) -> u64 {
        self.space
    }

    /// Whether two addresses may be one place in memory.
    pub(crate) fn are_one(self) -> bool {
        self.are_one
    }

    /// With the code of another process, as the copies of a program have it: it is mapped from one file.
    pub(crate) fn with_code_of(self, other: Self) -> Self {
        Self { text: other.text, ..self }
    }

    /// Where the code at a linear address lies.
    #[inline]
    pub(crate) fn code(self, linear: u64) -> u64 {
        Self { key: self.text, ..self }.physical(linear)
    }

    /// Where a linear address lies. Two pages of one frame are as rare as one in 2^40.
    #[inline]
    pub(crate) fn physical(self, linear: u64) -> u64 {
        let page = if self.are_one { 1 } else { mixed(linear >> self.shift ^ self.key) };
        (page << self.shift | linear & ((1 << self.shift) - 1)) & ((1 << PHYSICAL_BITS) - 1)
    }

    /// The number by which a translation of the address is found.
    #[inline]
    pub(super) fn number(self, linear: u64) -> u64 {
        linear >> self.shift ^ self.key << 40
    }

    /// Where the entry for the page lies in the tables: eight bytes behind that of the page before.
    #[inline]
    pub(super) fn entry(self, linear: u64) -> u64 {
        1 << PHYSICAL_BITS | (self.key & 0x3ff) << 40 | (linear >> self.shift & 0xf_ffff_ffff) << 3
    }

    /// Where a hypervisor's entry for the page lies in its tables, if the guest's memory is as much in order as its pages.
    #[inline]
    pub(super) fn host_entry(self, linear: u64) -> u64 {
        1 << (PHYSICAL_BITS + 1) | Self { shift: PAGE_SHIFT, ..self }.entry(linear)
    }
}

/// splitmix64's finish (Vigna 2015): a permutation, so that two pages are never one.
fn mixed(mut it: u64) -> u64 {
    it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ it >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn pages_stay_whole_and_processes_apart() {
        let mut frames = HashSet::new();
        for process in 0..4 {
            let pages = Pages::of(process, 7, false);
            for page in 0..1000u64 {
                let at = pages.physical(page << 12 | 0x123);
                assert_eq!(at & 0xfff, 0x123);
                assert_eq!(pages.physical(page << 12 | 0xfff) >> 12, at >> 12);
                assert!(frames.insert(at >> 12));
            }
        }
        assert_ne!(Pages::of(0, 1, false).physical(0), Pages::of(0, 2, false).physical(0));
    }

    #[test]
    fn copies_of_a_program_have_its_code_and_their_own_data() {
        let first = Pages::of(0, 7, false);
        let copy = Pages::of(1, 7, false).with_code_of(first);
        assert_eq!(copy.code(0x1234), first.code(0x1234));
        assert_ne!(copy.physical(0x1234), first.physical(0x1234));
        assert_eq!(first.code(0x1234), first.physical(0x1234));
    }

    #[test]
    fn a_huge_page_is_one_piece() {
        let pages = Pages::of(0, 1, true);
        let (first, last) = (pages.physical(0x20_0000), pages.physical(0x3f_ffff));
        assert_eq!(last - first, 0x1f_ffff);
        assert_eq!(pages.number(0x20_0000), pages.number(0x3f_ffff));
    }
}
