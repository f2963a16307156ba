//! Physical addresses of a process's pages: anywhere, by a seed, and nowhere that another one has.

use corun_model::CoreModel;
use corun_record::PageSize;

/// Bits of an offset in a page.
pub(super) const PAGE_SHIFT: u32 = 12;
/// Bits of an offset in a huge page.
const HUGE_SHIFT: u32 = 21;
/// Linux puts the first stack of a process into the last 16 GiB of its addresses, and mappings (stacks of threads among them)
/// below.
const LOWEST_STACK: u64 = 0x7ffb_ff00_0000;
/// Addresses of the first mappings if addresses are not randomised.
const MAPPED_WITHOUT_CHANCE: std::ops::Range<u64> = 0x7fff_e000_0000..0x7fff_f800_0000;
/// Bits of a physical address.
const PHYSICAL_BITS: u32 = 52;
/// Bit of the number of a huge page, and of the entry for it, which distinguishes them from those of pages of 4 KiB:
/// a bit above those of both.
const HUGE: u64 = 1 << 39;

/// Bit of the numbers and entries of pages of a size.
fn kind(size: PageSize) -> u64 {
    match size {
        PageSize::Small => 0,
        PageSize::Huge => HUGE,
    }
}

/// Bits of an offset in a page.
fn shift(size: PageSize) -> u32 {
    match size {
        PageSize::Small => PAGE_SHIFT,
        PageSize::Huge => HUGE_SHIFT,
    }
}

/// A page that a translation is wanted of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// By which the translation is found.
    pub(super) number: u64,
    pub(super) size: PageSize,
    /// Of its entry in the tables.
    pub(super) in_tables: u64,
    pub(super) is_code: bool,
}

/// The pages of one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages {
    key: u64,
    /// Offset of the pages which hold its code.
    text: u64,
    /// Of what lies together in memory and has one translation.
    size: PageSize,
    /// Of what has one entry in the tables of its kernel.
    in_tables: PageSize,
    /// True if all of them are one page of memory.
    are_one: bool,
    /// Distinguishes the process's code from that of other processes.
    space: u64,
    /// By how much its stack lies at other offsets of its pages than it was recorded at.
    stack: u64,
}

impl Pages {
    /// Of process `process`; the same for the same seed.
    pub(crate) fn of(process: u32, seed: u64, size: PageSize) -> Self {
        let key = mixed(seed ^ u64::from(process).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let space = if process == 0 { 0 } else { mixed(process.into()) };
        let stack = if process == 0 { 0 } else { mixed(key) % (1 << PAGE_SHIFT) / 16 * 16 };
        Self { key, text: key, size, in_tables: size, are_one: false, space, stack }
    }

    /// On such a core: where it belongs to a virtual machine, the hypervisor has pages of 4 KiB, and a translation is of
    /// the smaller of two pages.
    pub(crate) fn on(self, model: &CoreModel) -> Self {
        if model.hierarchy.walk.nested == 0 {
            return self;
        }
        Self { size: PageSize::Small, ..self }
    }

    /// Pages of which each is the same page of memory.
    pub(crate) fn one() -> Self {
        Self {
            key: 0,
            text: 0,
            size: PageSize::Small,
            in_tables: PageSize::Small,
            are_one: true,
            space: 0,
            stack: 0,
        }
    }

    /// A number by which its data are known.
    #[inline]
    pub(super) fn process(self) -> u64 {
        self.key
    }

    /// A number that only threads of this process have; 0 if that does not matter.
    pub(crate) fn space(self) -> u64 {
        self.space
    }

    /// True if two addresses may be one place in memory.
    pub(crate) fn are_one(self) -> bool {
        self.are_one
    }

    /// With the code of another process, as the copies of a program have it: it is mapped from one file.
    pub(crate) fn with_code_of(self, other: Self) -> Self {
        Self { text: other.text, ..self }
    }

    /// Physical address of the code at a linear address.
    #[inline]
    pub(crate) fn code(self, linear: u64) -> u64 {
        Self { key: self.text, ..self.in_small() }.physical(linear)
    }

    /// The memory in small pages, as its code lies there.
    #[inline]
    pub(super) fn in_small(self) -> Self {
        Self { size: PageSize::Small, in_tables: PageSize::Small, ..self }
    }

    /// Physical address of a linear address. Two pages of one frame are as rare as one in 2^40.
    #[inline]
    pub(crate) fn physical(self, linear: u64) -> u64 {
        let shift = shift(self.size);
        let page = if self.are_one { 1 } else { mixed(linear >> shift ^ self.key) };
        (page << shift | linear & ((1 << shift) - 1)) & ((1 << PHYSICAL_BITS) - 1)
    }

    /// The offset of a linear address in its page. Kernels begin the stack of each process at random, and everything else at
    /// the beginning of a page.
    #[inline]
    pub(crate) fn offset(self, linear: u64) -> u64 {
        let is_on_stack = linear >= LOWEST_STACK && !MAPPED_WITHOUT_CHANCE.contains(&linear);
        linear.wrapping_add(if is_on_stack { self.stack } else { 0 }) % (1 << PAGE_SHIFT)
    }

    /// The size of those of its data.
    #[inline]
    pub(super) fn size(self) -> PageSize {
        self.size
    }

    /// The page that the address lies in.
    #[inline]
    pub(super) fn page(self, linear: u64, is_code: bool) -> Page {
        let number = |size: PageSize| kind(size) | linear >> shift(size) ^ self.key << 40;
        let Self { size, in_tables, .. } = self;
        Page { number: number(size), size, in_tables: number(in_tables), is_code }
    }

    /// Address of the page's entry in the tables: eight bytes after that of the page before.
    #[inline]
    pub(super) fn entry(self, linear: u64) -> u64 {
        let size = self.in_tables;
        let page = linear >> shift(size) & 0xf_ffff_ffff;
        1 << PHYSICAL_BITS | (self.key & 0x3ff) << 40 | kind(size) | page << 3
    }

    /// Address of a hypervisor's entry for 4 KiB in its tables, if the guest's memory is as much in order as its pages.
    #[inline]
    pub(super) fn host_entry(self, linear: u64) -> u64 {
        1 << (PHYSICAL_BITS + 1) | self.in_small().entry(linear)
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

    use crate::memory::pages::*;
    use corun_model::find;

    #[test]
    fn pages_stay_whole_and_processes_apart() {
        let mut frames = HashSet::new();
        for process in 0..4 {
            let pages = Pages::of(process, 7, PageSize::Small);
            for page in 0..1000u64 {
                let at = pages.physical(page << 12 | 0x123);
                assert_eq!(at & 0xfff, 0x123);
                assert_eq!(pages.physical(page << 12 | 0xfff) >> 12, at >> 12);
                assert!(frames.insert(at >> 12));
            }
        }
        assert_ne!(
            Pages::of(0, 1, PageSize::Small).physical(0),
            Pages::of(0, 2, PageSize::Small).physical(0)
        );
    }

    #[test]
    fn copies_of_a_program_have_its_code_and_their_own_data() {
        let first = Pages::of(0, 7, PageSize::Small);
        let copy = Pages::of(1, 7, PageSize::Small).with_code_of(first);
        assert_eq!(copy.code(0x1234), first.code(0x1234));
        assert_ne!(copy.physical(0x1234), first.physical(0x1234));
        assert_eq!(first.code(0x1234), first.physical(0x1234));
    }

    #[test]
    fn stacks_of_copies_lie_at_offsets_of_their_own_and_all_else_as_recorded() {
        let [first, copy] = [0, 1].map(|process| Pages::of(process, 7, PageSize::Small));
        let (stack, mapped, heap) = (0x7ffe_1234_5678, 0x7fff_f7a5_5678, 0x5555_5678_9678);
        for linear in [stack, mapped, heap] {
            assert_eq!(first.offset(linear), 0x678);
        }
        assert_eq!([mapped, heap].map(|linear| copy.offset(linear)), [0x678; 2]);
        let moved = copy.offset(stack).wrapping_sub(0x678);
        assert!(moved != 0 && moved.is_multiple_of(16), "{moved}");
    }

    #[test]
    fn a_huge_page_is_one_piece() {
        let pages = Pages::of(0, 1, PageSize::Huge);
        let (first, last) = (pages.physical(0x20_0000), pages.physical(0x3f_ffff));
        assert_eq!(last - first, 0x1f_ffff);
        let number = |linear| pages.page(linear, false).number;
        assert_eq!(number(0x20_0000), number(0x3f_ffff));
        assert_ne!(number(0x20_0000), number(0x40_0000));
    }

    #[test]
    fn beside_huge_pages_code_lies_in_small_ones() {
        let (small, huge) = (Pages::of(0, 1, PageSize::Small), Pages::of(0, 1, PageSize::Huge));
        assert_eq!(huge.code(0x20_1234), small.code(0x20_1234));
        let number = |pages: Pages, linear| pages.page(linear, true).number;
        assert_eq!(number(huge.in_small(), 0x20_1234), number(small, 0x20_1234));
        // Of the first huge page and the first small one.
        assert_ne!(number(huge, 0), number(small, 0));
        assert_ne!(huge.entry(0), small.entry(0));
    }

    #[test]
    fn a_hypervisor_s_small_pages_divide_a_guest_s_huge_one() {
        let mut model = find("zen4").unwrap();
        let huge = Pages::of(0, 1, PageSize::Huge);
        assert_eq!(huge.on(&model).physical(0x20_1234), huge.physical(0x20_1234));
        model.hierarchy.walk.nested = 1;
        let divided = huge.on(&model);
        assert_eq!(
            divided.physical(0x20_1234),
            Pages::of(0, 1, PageSize::Small).physical(0x20_1234)
        );
        assert_ne!(divided.page(0x20_0000, false).number, divided.page(0x20_1000, false).number);
        assert_eq!(divided.entry(0x20_0000), divided.entry(0x20_1000));
        assert_ne!(divided.host_entry(0x20_0000), divided.host_entry(0x20_1000));
    }
}
