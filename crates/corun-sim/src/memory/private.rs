//! Private part of the memory hierarchy: what each core has of its own.

use crate::memory::cache::{Cache, CacheLine};
use crate::memory::fill_conflict::FillConflict;
use crate::memory::line::Line;
use crate::memory::line_alias::Aliases;
use crate::memory::link::Link;
use crate::memory::mshr::Buffers;
use crate::memory::prefetch::Prefetchers;
use crate::memory::recall::Recall;
use crate::memory::tlb::Translations;
use crate::memory::write_buffers::WriteBuffers;
use crate::memory::{Origin, Request};
use crate::sharing::{Requester, ThreadShared};
use corun_model::{CacheSize, CoreModel, Policy, Sharing};
use corun_record::MemoryRequests;

/// First and second level of one core, and what lies between them.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) l1i: ThreadShared<Cache>,
    pub(super) l1d: ThreadShared<Cache>,
    pub(super) l1d_latency: u64,
    /// Which of its lines exclude each other, if any do.
    pub(super) aliases: ThreadShared<Option<Aliases>>,
    pub(super) mshrs: ThreadShared<Buffers>,
    pub(super) fill_conflict: FillConflict,
    pub(super) write_buffers: WriteBuffers,
    pub(super) l2: ThreadShared<Cache>,
    pub(super) l2_link: ThreadShared<Link>,
    pub(super) l2_misses: ThreadShared<Buffers>,
    pub(super) l3_link: Link,
    pub(super) translations: Translations,
    /// Places where data were found.
    pub(super) recall: Recall,
    pub(super) prefetchers: ThreadShared<Prefetchers>,
    pub(super) next_line: bool,
    pub(super) adjacent: bool,
    /// Of each thread.
    pub(super) requests: Vec<MemoryRequests>,
}

impl Private {
    /// Of a core with so many threads.
    pub(super) fn of(model: &CoreModel, threads: usize) -> Self {
        let hierarchy = &model.hierarchy;
        let cache = |size: CacheSize, sharing: &Sharing| {
            let sharers = if sharing.policy == Policy::Shared { threads } else { 1 };
            ThreadShared::new(sharing.policy, threads, |parts| {
                Cache::of_threads(size.part(parts), sharers)
            })
        };
        let (l1i, l1d) = (&model.front.l1i, &model.memory.l1d);
        let (fills, prefetch) = (&hierarchy.fills, &hierarchy.prefetch);
        let l2 = hierarchy.l2.sharing.policy;
        Self {
            l1i: cache(l1i.size(), &l1i.sharing),
            l1d: cache(l1d.size(), &l1d.sharing),
            l1d_latency: model.memory.loads.latency.into(),
            aliases: ThreadShared::new(l1d.sharing.policy, threads, |_| {
                model.memory.line_alias.as_ref().map(Aliases::of)
            }),
            mshrs: ThreadShared::new(fills.sharing.policy, threads, |parts| {
                Buffers::new(fills.entries / parts)
            }),
            fill_conflict: FillConflict::of(model),
            write_buffers: WriteBuffers::new(),
            l2: cache(hierarchy.l2.size(), &hierarchy.l2.sharing),
            // Each of equal parts is so many times as slow.
            l2_link: ThreadShared::new(l2, threads, |parts| {
                Link::new(hierarchy.l2.interval * f64::from(parts))
            }),
            l2_misses: ThreadShared::new(l2, threads, |parts| {
                Buffers::new(hierarchy.l2.entries / parts)
            }),
            l3_link: Link::new(hierarchy.l3.as_ref().map_or(0.0, |l3| l3.interval)),
            translations: Translations::of(model, threads),
            recall: Recall::new(),
            prefetchers: ThreadShared::new(prefetch.sharing.policy, threads, |parts| {
                Prefetchers::of(prefetch, parts)
            }),
            next_line: hierarchy.prefetch.next_line,
            adjacent: hierarchy.prefetch.adjacent,
            requests: vec![MemoryRequests::default(); threads.max(1)],
        }
    }

    /// Counts where a line came from that the first level did not have.
    pub(super) fn note_origin(&mut self, requester: Requester, origin: Origin) {
        let counts = self.counts(requester);
        counts.l2_demand_misses += u64::from(!matches!(origin, Origin::L1 | Origin::L2));
        counts.l3_demand_misses += u64::from(matches!(origin, Origin::Main | Origin::OtherCore));
    }

    /// Memory requests of a thread.
    #[inline]
    pub(super) fn counts(&mut self, requester: Requester) -> &mut MemoryRequests {
        &mut self.requests[usize::from(requester.thread)]
    }

    /// The line that an access wants, used, if it was asked for lately and is still there with its translation, and `serves`.
    #[inline]
    pub(super) fn find_again(
        &mut self,
        request: &Request,
        serves: impl Fn(&CacheLine) -> bool,
    ) -> Option<&mut CacheLine> {
        let found = self.recall.of(request)?;
        let size = request.pages.size();
        let translations = self.translations.of_data(request.requester, size);
        found.use_again(translations, self.l1d.of(request.requester), serves)
    }

    /// An access has just found its translation and its line in the first levels.
    #[inline]
    pub(super) fn note_found(&mut self, request: &Request, line: Line) {
        let Request { requester, pages, linear, .. } = *request;
        let page = pages.page(linear, false).number;
        let translations = self.translations.of_data(requester, pages.size());
        self.recall.note(request, (line, page), (translations, self.l1d.of(requester)));
    }
}
