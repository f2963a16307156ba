//! From linear to physical: two levels of remembered translations, and walks through the tables.

use super::buffers::Buffers;
use super::ways::Ways;
use crate::divided::{Divided, User};
use crate::model::{CoreModel, Policy, SecondTlb, Tlb};

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
    data: Divided<Ways>,
    code: Divided<Ways>,
    second: Option<Divided<Ways>>,
    /// Of instructions, where they have their own.
    second_code: Option<Divided<Ways>>,
    directories: Divided<Ways>,
    /// What a first-level miss costs if the second level has it.
    pub(super) data_miss: u64,
    pub(super) code_miss: u64,
    pub(super) walkers: Divided<Buffers>,
    pub(super) walk: u64,
    /// Entries of a hypervisor's tables that a walk reads.
    pub(super) nested: u32,
}

/// Bits of a page's number that one entry of the level above covers.
const DIRECTORY_SHIFT: u32 = 9;

impl Translations {
    pub(super) fn of(model: &CoreModel, threads: usize) -> Self {
        let walk = &model.hierarchy.walk;
        let divided = |entries: u32, ways: u32, by_chance: bool, policy: Policy| {
            Divided::new(policy, threads, |parts| {
                // Of what all ways of one set hold, a thread gets some of the ways.
                let ways = if ways == entries { ways / parts } else { ways };
                let known = Ways::new(entries / parts, ways);
                if by_chance { known.by_chance() } else { known }
            })
        };
        let first = |tlb: &Tlb| divided(tlb.entries, tlb.ways, false, tlb.sharing.policy);
        let second =
            |tlb: &SecondTlb| divided(tlb.entries, tlb.ways, tlb.by_chance, tlb.sharing.policy);
        Self {
            data: first(&model.memory.dtlb),
            code: first(&model.front.itlb),
            second: model.hierarchy.stlb.as_ref().map(second),
            second_code: model.hierarchy.code_stlb.as_ref().map(second),
            directories: divided(walk.directories, walk.directories, false, walk.sharing.policy),
            data_miss: model.memory.dtlb.miss.into(),
            code_miss: model.front.itlb.miss.into(),
            walkers: Divided::new(walk.sharing.policy, threads, |parts| {
                Buffers::new(walk.walkers / parts)
            }),
            walk: walk.cycles.into(),
            nested: walk.nested,
        }
    }

    /// Looks a page up; it is known from now on.
    #[inline]
    pub(super) fn find(&mut self, user: User, page: u64, is_code: bool) -> Found {
        let first = if is_code { &mut self.code } else { &mut self.data };
        if first.of(user).touch(page) {
            return Found::First;
        }
        let own = self.second_code.as_mut().filter(|_| is_code);
        if own.or(self.second.as_mut()).is_some_and(|second| second.of(user).touch(page)) {
            return Found::Second;
        }
        Found::Walk(u32::from(!self.directories.of(user).touch(page >> DIRECTORY_SHIFT)))
    }
}
