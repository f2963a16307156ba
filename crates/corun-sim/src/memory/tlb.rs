//! From linear to physical: two levels of remembered translations, and walks through the tables.

use crate::memory::mshr::Buffers;
use corun_record::PageSize;

use crate::memory::pages::Page;
use crate::memory::set_associative::Ways;
use crate::sharing::{Requester, ThreadShared};
use corun_model::{CoreModel, Policy, SecondTlb, Tlb};

/// Level that has a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TlbLookup {
    /// In the first level.
    First,
    /// In the second.
    Second,
    /// In the tables; so many levels above the page's entry had to be read too.
    Walk(u32),
}

/// The translations of a core.
#[derive(Debug)]
pub(super) struct Translations {
    data: ThreadShared<Ways>,
    /// Of huge pages, where they have a table of their own.
    huge: Option<ThreadShared<Ways>>,
    code: ThreadShared<Ways>,
    second: Option<ThreadShared<Ways>>,
    /// True if the second level has none of huge pages.
    is_second_small: bool,
    /// Of instructions, where they have their own.
    second_code: Option<ThreadShared<Ways>>,
    directories: ThreadShared<Ways>,
    /// Cycles of a first-level miss that hits in the second level.
    pub(super) data_miss: u64,
    pub(super) code_miss: u64,
    pub(super) walkers: ThreadShared<Buffers>,
    pub(super) walk: u64,
    /// Entries of a hypervisor's tables that a walk reads.
    pub(super) nested: u32,
}

/// Bits of a page's number that one entry of the level above covers.
const DIRECTORY_SHIFT: u32 = 9;

impl Translations {
    pub(super) fn of(model: &CoreModel, threads: usize) -> Self {
        let walk = &model.hierarchy.walk;
        let divided = |entries: u32, ways: u32, random_replacement: bool, policy: Policy| {
            ThreadShared::new(policy, threads, |parts| {
                // Of what all ways of one set hold, a thread gets some of the ways.
                let ways = if ways == entries { ways / parts } else { ways };
                let known = Ways::new(entries / parts, ways);
                if random_replacement { known.random_replacement() } else { known }
            })
        };
        let first = |tlb: &Tlb| divided(tlb.entries, tlb.ways, false, tlb.sharing.policy);
        let second = |tlb: &SecondTlb| {
            divided(tlb.entries, tlb.ways, tlb.random_replacement, tlb.sharing.policy)
        };
        Self {
            data: first(&model.memory.dtlb),
            huge: model.memory.dtlb.huge.map(|entries| {
                let dtlb = &model.memory.dtlb;
                divided(entries, dtlb.ways, false, dtlb.sharing.policy)
            }),
            code: first(&model.front.itlb),
            second: model.hierarchy.stlb.as_ref().map(second),
            is_second_small: model.hierarchy.stlb.as_ref().is_some_and(|tlb| tlb.small_only),
            second_code: model.hierarchy.code_stlb.as_ref().map(second),
            directories: divided(walk.directories, walk.directories, false, walk.sharing.policy),
            data_miss: model.memory.dtlb.miss.into(),
            code_miss: model.front.itlb.miss.into(),
            walkers: ThreadShared::new(walk.sharing.policy, threads, |parts| {
                Buffers::new(walk.walkers / parts)
            }),
            walk: walk.cycles.into(),
            nested: walk.nested,
        }
    }

    /// The first level's table of data in pages of a size, as a thread uses it.
    #[inline]
    pub(super) fn of_data(&mut self, requester: Requester, size: PageSize) -> &mut Ways {
        let own = self.huge.as_mut().filter(|_| size == PageSize::Huge);
        own.unwrap_or(&mut self.data).of(requester)
    }

    /// Empties the first level's table of data.
    pub(super) fn forget_data(&mut self) {
        self.data.each().for_each(Ways::forget);
    }

    /// Looks a page up; it is known from now on.
    #[inline]
    pub(super) fn find(&mut self, requester: Requester, page: Page) -> TlbLookup {
        let Page { number, size, in_tables, is_code } = page;
        let is_huge = size == PageSize::Huge;
        let own = self.huge.as_mut().filter(|_| is_huge);
        let data = own.unwrap_or(&mut self.data);
        let first = if is_code { &mut self.code } else { data };
        if first.of(requester).touch(number) {
            return TlbLookup::First;
        }
        let own = self.second_code.as_mut().filter(|_| is_code);
        let all = self.second.as_mut().filter(|_| !(is_huge && self.is_second_small));
        if own.or(all).is_some_and(|second| second.of(requester).touch(number)) {
            return TlbLookup::Second;
        }
        TlbLookup::Walk(u32::from(
            !self.directories.of(requester).touch(in_tables >> DIRECTORY_SHIFT),
        ))
    }
}
