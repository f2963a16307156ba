//! What each core has of its own.

use super::Requests;
use super::buffers::Buffers;
use super::cache::{Cache, Held, Line, State};
use super::link::Link;
use super::prefetch::Prefetchers;
use super::translation::Translations;
use crate::model::CoreModel;

/// First and second level of one core, and what lies between them.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) l1i: Cache,
    pub(super) l1d: Cache,
    pub(super) l1d_latency: u64,
    pub(super) fills: Buffers,
    pub(super) l2: Cache,
    pub(super) l2_link: Link,
    pub(super) l2_misses: Buffers,
    pub(super) l3_link: Link,
    pub(super) translations: Translations,
    pub(super) prefetchers: Prefetchers,
    pub(super) next_line: bool,
    pub(super) adjacent: bool,
    pub(super) requests: Requests,
}

impl Private {
    pub(super) fn of(model: &CoreModel) -> Self {
        let hierarchy = &model.hierarchy;
        Self {
            l1i: Cache::of(model.front.l1i.size()),
            l1d: Cache::of(model.memory.l1d.size()),
            l1d_latency: model.memory.loads.latency.into(),
            fills: Buffers::new(hierarchy.fills.entries),
            l2: Cache::of(hierarchy.l2.size()),
            l2_link: Link::new(hierarchy.l2.interval),
            l2_misses: Buffers::new(hierarchy.l2.entries),
            l3_link: Link::new(hierarchy.l3.as_ref().map_or(0.0, |l3| l3.interval)),
            translations: Translations::of(model),
            prefetchers: Prefetchers::of(&hierarchy.prefetch),
            next_line: hierarchy.prefetch.next_line,
            adjacent: hierarchy.prefetch.adjacent,
            requests: Requests::default(),
        }
    }

    /// Gives up a line for another core that asks for it now and is heard so many cycles later; or, if it
    /// does not want it `wholly`, the right to write it. Returns it as it was, if it was there.
    pub(super) fn give(&mut self, line: Line, wholly: bool, now: u64, way: u64) -> Option<Held> {
        let mut before: Option<Held> = None;
        for held in [self.l1d.peek(line), self.l2.peek(line)].into_iter().flatten() {
            if held.until < u64::MAX {
                continue;
            }
            before = before.filter(|other| other.state >= held.state).or(Some(*held));
            if wholly {
                held.until = now.max(held.ready) + way;
            } else {
                held.state = State::Shared;
            }
        }
        if wholly {
            self.l1i.remove(line);
        }
        before
    }
}
