//! From linear to physical: two levels of remembered translations, and walks through the tables.

use super::buffers::Buffers;
use super::ways::Ways;
use crate::model::{CoreModel, SecondTlb};

/// How a translation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
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
    data: Ways,
    code: Ways,
    second: Option<Ways>,
    /// Of instructions, where they have their own.
    second_code: Option<Ways>,
    directories: Ways,
    /// What a first-level miss costs if the second level has it.
    pub(super) data_miss: u64,
    pub(super) code_miss: u64,
    pub(super) walkers: Buffers,
    pub(super) walk: u64,
}

/// Bits of a page's number that one entry of the level above covers.
const DIRECTORY_SHIFT: u32 = 9;

impl Translations {
    pub(super) fn of(model: &CoreModel) -> Self {
        let walk = &model.hierarchy.walk;
        let second = |tlb: &SecondTlb| Ways::new(tlb.entries, tlb.ways, 0);
        Self {
            data: Ways::of_tlb(&model.memory.dtlb),
            code: Ways::of_tlb(&model.front.itlb),
            second: model.hierarchy.stlb.as_ref().map(second),
            second_code: model.hierarchy.code_stlb.as_ref().map(second),
            directories: Ways::new(walk.directories.max(1), walk.directories.max(1), 0),
            data_miss: model.memory.dtlb.miss.into(),
            code_miss: model.front.itlb.miss.into(),
            walkers: Buffers::new(walk.walkers),
            walk: walk.cycles.into(),
        }
    }

    /// Looks a page up; it is known from now on.
    #[inline]
    pub(super) fn find(&mut self, page: u64, is_code: bool) -> Found {
        let first = if is_code { &mut self.code } else { &mut self.data };
        if first.touch(page) {
            return Found::First;
        }
        let own = self.second_code.as_mut().filter(|_| is_code);
        if own.or(self.second.as_mut()).is_some_and(|second| second.touch(page)) {
            return Found::Second;
        }
        Found::Walk(u32::from(!self.directories.touch(page >> DIRECTORY_SHIFT)))
    }
}
