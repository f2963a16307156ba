//! Memory beyond the pipeline: caches, translations, prefetchers, and other cores that want the same lines.
//!
//! A request changes all states at once and is answered with when its line will be there. What others still have to
//! wait for (buffers, links, a line on its way) is remembered as the cycle in which it is free.

mod background_fills;
mod cache;
mod coherence;
mod directory;
mod fill_conflict;
mod l1d;
mod l1i;
mod l2;
mod l3;
mod line;
mod line_alias;
mod link;
mod mshr;
mod pages;
mod prefetch;
mod private;
mod recall;
mod request;
mod set_associative;
mod shadow_tags;
#[cfg(test)]
mod tests;
mod tlb;
mod touch;
mod walk;
mod write_buffers;
mod write_combining;

pub(crate) use background_fills::Chance;
pub(crate) use pages::Pages;
use request::Access;
pub(crate) use request::{Origin, Reply, Request, SiblingEviction, lines};

use corun_model::{CoreModel, Holds, LINE, WalkCache};
use corun_record::MemoryRequests;
use directory::Directory;
use l3::Group;
use pages::PAGE_SHIFT;
use private::Private;

/// Bits of an offset in a line.
const LINE_SHIFT: u32 = LINE.trailing_zeros();
/// Lines of a page of 4 KiB.
const LINES_OF_A_PAGE: u64 = 1 << (PAGE_SHIFT - LINE_SHIFT);

/// All that cores share, and what each has of its own.
pub(crate) struct Memory {
    cores: Vec<Private>,
    groups: Vec<Group>,
    /// Which cores hold which lines; none with one core.
    directory: Option<Directory>,
    latencies: Latencies,
    /// Requests for lines that other cores may have.
    transfers: u64,
    group_size: usize,
    holds: Holds,
}

/// Cycles on top of those of the level before.
#[derive(Debug, Clone, Copy)]
struct Latencies {
    l2: u64,
    l3: u64,
    main: u64,
    write: u64,
    transfer: u64,
    snoop_delay: u64,
    code: u64,
    walk_begins: WalkCache,
}

impl Memory {
    /// Empty caches for cores with so many threads each.
    pub(crate) fn new(model: &CoreModel, threads: &[usize]) -> Self {
        let cores = threads.len();
        let hierarchy = &model.hierarchy;
        let l3 = hierarchy.l3.as_ref();
        let group_size = l3.map_or(cores, |l3| l3.cores as usize).max(1);
        let behind_l2 = if l3.is_some() { hierarchy.l2.miss } else { 0 };
        let behind_l3 = l3.map_or(hierarchy.l2.miss, |l3| l3.miss);
        let main = &hierarchy.main;
        let group = |_| Group::of(model, cores.min(group_size) as u32);
        Self {
            cores: threads.iter().map(|&threads| Private::of(model, threads)).collect(),
            groups: (0..cores.div_ceil(group_size)).map(group).collect(),
            directory: (cores > 1).then(|| Directory::new(cores)),
            latencies: Latencies {
                l2: model.memory.l1d.miss.into(),
                l3: behind_l2.into(),
                main: u64::from(behind_l3) + (main.nanoseconds * model.gigahertz) as u64,
                write: (main.write_share * main.nanoseconds * model.gigahertz) as u64,
                transfer: hierarchy.coherence.transfer.into(),
                snoop_delay: hierarchy.coherence.snoop_delay.into(),
                code: model.front.l1i.miss.into(),
                walk_begins: hierarchy.walk.first_cache,
            },
            transfers: 0,
            group_size,
            holds: l3.map_or(Holds::Victims, |l3| l3.holds),
        }
    }

    /// A part of the run was left out up to cycle `now`: the second and the last level hold lines of it, which are not known.
    pub(crate) fn expect_earlier_lines(&mut self, now: u64) {
        let second = self.cores.iter_mut().flat_map(|core| core.l2.each());
        let last = self.groups.iter_mut().filter_map(Group::l3);
        second.chain(last).for_each(|cache| cache.expect_earlier_lines(now));
    }

    /// Requests of a thread of a core, counted.
    pub(crate) fn requests(&self, core: usize, thread: usize) -> MemoryRequests {
        self.cores[core].requests[thread]
    }
}
