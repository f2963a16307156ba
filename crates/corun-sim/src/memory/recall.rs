//! Places of lines that were accessed lately, with their translations: the same access is not searched for again.
//!
//! This changes nothing but how long a simulation takes: a place counts only if it still holds what it held.

use crate::memory::cache::{Cache, CacheLine};
use crate::memory::line::Line;
use crate::memory::set_associative::Ways;
use crate::memory::{LINE_SHIFT, Request};
use crate::sharing::Requester;

/// Lines that are remembered: about those of a first level.
const REMEMBERED: usize = 1 << 9;

/// The lines that were found last, by their linear addresses.
#[derive(Debug)]
pub(super) struct Recall {
    entries: Vec<RecallEntry>,
}

/// An access, with the places of its translation and its line.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecallEntry {
    /// The line by its linear address, and the process that it is of.
    linear: Line,
    process: u64,
    requester: Requester,
    /// The physical line.
    line: Line,
    /// The page's number, its set and its place among the translations.
    page: (u64, u32, u32),
    /// The group of sets of the cache, and the place there.
    place: (u32, u32),
}

impl Recall {
    pub(super) fn new() -> Self {
        let nothing = RecallEntry {
            linear: Line::MAX,
            process: 0,
            requester: Requester { thread: 0, is_alone: false },
            line: 0,
            page: (0, 0, 0),
            place: (0, 0),
        };
        Self { entries: vec![nothing; REMEMBERED] }
    }

    /// Entry of the last access of the same kind to the line, if it is kept.
    #[inline]
    pub(super) fn of(&self, request: &Request) -> Option<RecallEntry> {
        let linear = request.linear >> LINE_SHIFT;
        let found = &self.entries[linear as usize % REMEMBERED];
        let is_it = found.linear == linear
            && found.process == request.pages.process()
            && found.requester == request.requester;
        is_it.then_some(*found)
    }

    /// An access has just found its translation and its line.
    #[inline]
    pub(super) fn note(
        &mut self,
        request: &Request,
        (line, page): (Line, u64),
        (translations, cache): (&Ways, &Cache),
    ) {
        let linear = request.linear >> LINE_SHIFT;
        let (set, place) = translations.last_place(page);
        self.entries[linear as usize % REMEMBERED] = RecallEntry {
            linear,
            process: request.pages.process(),
            requester: request.requester,
            line,
            page: (page, set, place),
            place: cache.last_place(line),
        };
    }
}

impl RecallEntry {
    /// Uses the translation and the line, if both are still in their places and the line `serves`.
    #[inline]
    pub(super) fn use_again<'c>(
        &self,
        translations: &mut Ways,
        cache: &'c mut Cache,
        serves: impl Fn(&CacheLine) -> bool,
    ) -> Option<&'c mut CacheLine> {
        let (page, set, place) = self.page;
        if !translations.is_at(page, place)
            || !cache.held_at(self.line, self.place).is_some_and(serves)
        {
            return None;
        }
        translations.use_at(page, (set, place));
        Some(cache.use_at(self.place))
    }
}
